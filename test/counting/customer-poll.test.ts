/** What a poll of a customer reads, and what it changes. */
import { describe, expect, test } from 'vitest';
import type { Stream } from '../../src/base/model.ts';
import { planCustomerPoll, pollCustomer } from '../../src/counting/customer-poll.ts';
import type { CustomerPlan, PollTimes } from '../../src/counting/customer-poll.ts';
import { counterOfKey } from '../../src/counting/high-water-marks.ts';
import { OCTOBER, OWNER } from '../support/owner.ts';
import { queryFrom } from '../support/responses.ts';
import { BreakdownFixture } from './breakdowns/fixture.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, polledPeople, StreamFixture } from './fixture.ts';
import type { PollFixture } from './fixture.ts';

function timesOf(of: PollFixture): PollTimes {
  const clocks = { nowMs: () => of.clockMs, monotonicMs: () => of.monotonicMs };
  return { clocks, reconcileIntervalMs: HOUR_MS };
}

/** Plans a poll that starts now; baselines from before `renewalMs` are due again. */
function planned(of: PollFixture, stream: Stream, renewalMs = 0): CustomerPlan {
  return planCustomerPoll(of.customer, stream, timesOf(of), renewalMs);
}

/** Sends a poll by this plan; its requests are those of the fixture. */
function send(of: PollFixture, stream: Stream, plan = planned(of, stream)) {
  of.requests = [];
  const query = queryFrom((question) => of.respond(question), of.requests);
  return pollCustomer(of.customer, stream, plan, timesOf(of), query);
}

describe('a poll of people', () => {
  test('reads a baseline first, and changes nothing before it is taken', async () => {
    const people = new StreamFixture();
    expect(planned(people, 'people')).toBe('baseline');
    const outcome = await send(people, 'people');
    expect(outcome).toMatchObject({ result: 'accepted' });
    expect(people.totals()).toEqual([undefined, undefined]);
    people.customer.polled(outcome, people.nowMs);
    expect(people.totals()).toEqual([47, 39]);
    expect(people.metrics().streams.people).toMatchObject({ up: true, acceptedMs: people.nowMs });
  });

  test('counts on the baseline, also on one that is due again', async () => {
    const people = await polledPeople();
    people.nowMs += MINUTE_MS;
    expect(planned(people, 'people')).toBe('recent');
    expect(planned(people, 'people', people.monotonicMs)).toBe('renewal');
    await send(people, 'people', 'renewal');
    const ofBaseline = people.requests.length;
    people.record(people.nowMs - MINUTE_MS / 2, [1, 0]);
    const outcome = await send(people, 'people', 'recent');
    expect(people.requests.length).toBeLessThan(ofBaseline);
    people.customer.polled(outcome, people.nowMs);
    expect(people.totals()).toEqual([48, 39]);
  });
});

describe('a poll of a breakdown', () => {
  test('exports the keys of the last period from 0 on', async () => {
    const branches = new BreakdownFixture({ 101: [5, 4] });
    for (const [key, period, value] of [
      ['102', OCTOBER, 9],
      ['103', OCTOBER, 0],
      ['104', { ...OCTOBER, startMs: OCTOBER.startMs - 30 * DAY_MS, month: 24320 }, 9],
    ] as const) {
      const counter = counterOfKey('branch', 'people_entered', key);
      branches.marks.update(OWNER, counter, period, value, OCTOBER.startMs);
    }
    expect(planned(branches, 'branch')).toBe('breakdown');
    branches.customer.polled(await send(branches, 'branch'), branches.nowMs);
    expect(branches.totals()).toEqual({ 101: [5, 4], 102: [0, 0] });
  });
});
