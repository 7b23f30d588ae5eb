/** What a poll of a customer reads, whether it can wait for a slot, and what it changes. */
import { describe, expect, test } from 'vitest';
import type { Stream } from '../../src/base/model.ts';
import { planCustomerPoll } from '../../src/counting/customer-poll.ts';
import type { PlannedPoll, PollEnd } from '../../src/counting/customer-poll.ts';
import { counterOfKey } from '../../src/counting/high-water-marks.ts';
import { OCTOBER, OWNER } from '../support/owner.ts';
import { queryFrom } from '../support/responses.ts';
import { BreakdownFixture } from './breakdowns/fixture.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, polledPeople, StreamFixture } from './fixture.ts';
import type { PollFixture } from './fixture.ts';

/** Plans a poll that starts now; baselines from before `renewalMs` are due again. */
function planned(of: PollFixture, stream: Stream, renewalMs = 0): PlannedPoll {
  const clocks = {
    nowMs: () => of.clockMs,
    monotonicMs: () => of.monotonicMs,
  };
  const times = { clocks, reconcileIntervalMs: HOUR_MS };
  return planCustomerPoll(of.customer, stream, times, renewalMs);
}

/** Sends a poll by this plan; its requests are those of the fixture. */
function send(of: PollFixture, poll: PlannedPoll, plan = poll.plan): Promise<PollEnd> {
  of.requests = [];
  return poll.poll(
    plan,
    queryFrom((question) => of.respond(question), of.requests),
  );
}

describe('a poll of people', () => {
  test('reads a baseline first, for which it cannot wait, and changes nothing before it is committed', async () => {
    const people = new StreamFixture();
    const poll = planned(people, 'people');
    expect(poll).toMatchObject({ plan: 'baseline', canWait: false });
    const end = await send(people, poll);
    expect(end).toMatchObject({ result: 'accepted', canWait: true });
    expect(people.totals()).toEqual([undefined, undefined]);
    end.commit(people.nowMs);
    expect(people.totals()).toEqual([47, 39]);
    expect(people.metrics().streams.people).toMatchObject({ up: true, acceptedMs: people.nowMs });
  });

  test('counts on the baseline, also on one that is due again', async () => {
    const people = await polledPeople();
    people.nowMs += MINUTE_MS;
    expect(planned(people, 'people')).toMatchObject({ plan: 'recent', canWait: true });
    const due = planned(people, 'people', people.monotonicMs);
    expect(due).toMatchObject({ plan: 'baseline', canWait: true });
    await send(people, due);
    const ofBaseline = people.requests.length;
    people.record(people.nowMs - MINUTE_MS / 2, [1, 0]);
    const end = await send(people, due, 'recent');
    expect(people.requests.length).toBeLessThan(ofBaseline);
    end.commit(people.nowMs);
    expect(people.totals()).toEqual([48, 39]);
  });

  test.each([
    ['verifies counts that have doubled: it can wait', 'minute', true],
    ['does not fit the kept one: it cannot wait', 'day', false],
  ])('that needs a baseline which %s', async (_, aggregation, canWait) => {
    const people = new StreamFixture({ records: [[7 * MINUTE_MS, [20, 0]]] });
    await people.poll();
    people.nowMs += MINUTE_MS;
    people.record(people.nowMs - MINUTE_MS / 2, [20, 0]);
    people.change((response) => ({ ...response, aggregation }));
    const end = await send(people, planned(people, 'people'));
    expect(end).toMatchObject({ result: 'needs baseline', canWait });
  });
});

describe('a poll of a breakdown', () => {
  test('reads its keys, and waits for nothing', async () => {
    const branches = new BreakdownFixture({ 101: [5, 4] }, { 101: [2, 1] });
    const poll = planned(branches, 'branch');
    expect(poll).toMatchObject({ plan: 'breakdown', canWait: false });
    const end = await send(branches, poll);
    expect(end).toMatchObject({ result: 'accepted', canWait: false });
    expect(branches.keys()).toEqual([]);
    end.commit(branches.nowMs);
    expect(branches.totals()).toEqual({ 101: [5, 4] });
    expect(branches.metrics().streams.branch).toMatchObject({ acceptedMs: branches.nowMs });
  });

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
    (await send(branches, planned(branches, 'branch'))).commit(branches.nowMs);
    expect(branches.totals()).toEqual({ 101: [5, 4], 102: [0, 0] });
  });
});
