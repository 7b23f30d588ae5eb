/** What a poll of a customer reads, and what it changes. Polls of breakdowns are in breakdowns/. */
import { expect, test } from 'vitest';
import { planCustomerPoll, pollCustomer } from '../../src/counting/customer-poll.ts';
import type { CustomerPlan } from '../../src/counting/customer-poll.ts';
import { queryFrom } from '../support/responses.ts';
import { MINUTE_MS, polledPeople, StreamFixture } from './fixture.ts';

/** Plans a poll of people that starts now; baselines from before `renewalMs` are due again. */
function planned({ customer, times }: StreamFixture, renewalMs = 0): CustomerPlan {
  return planCustomerPoll(customer, 'people', times, renewalMs);
}

/** Sends a poll by this plan; its requests are those of the fixture. */
function send(people: StreamFixture, plan: CustomerPlan) {
  people.requests = [];
  const query = queryFrom((question) => people.respond(question), people.requests);
  return pollCustomer(people.customer, 'people', plan, people.times, query);
}

test('a first poll reads a baseline, and changes nothing before it is taken', async () => {
  const people = new StreamFixture();
  expect(planned(people)).toBe('baseline');
  const outcome = await send(people, 'baseline');
  expect(outcome).toMatchObject({ result: 'accepted' });
  expect(people.totals()).toEqual([undefined, undefined]);
  people.customer.polled(outcome, people.nowMs);
  expect(people.totals()).toEqual([47, 39]);
  expect(people.metrics().streams.people).toMatchObject({ up: true, acceptedMs: people.nowMs });
});

test('a later one counts on the baseline, also on one that is due again', async () => {
  const people = await polledPeople();
  people.nowMs += MINUTE_MS;
  expect(planned(people)).toBe('recent');
  expect(planned(people, people.monotonicMs)).toBe('renewal');
  await send(people, 'renewal');
  const ofBaseline = people.requests.length;
  people.record(people.nowMs - MINUTE_MS / 2, [1, 0]);
  const outcome = await send(people, 'recent');
  expect(people.requests.length).toBeLessThan(ofBaseline);
  people.customer.polled(outcome, people.nowMs);
  expect(people.totals()).toEqual([48, 39]);
});
