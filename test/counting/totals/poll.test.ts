/** What follows from the last minutes, one condition at a time. */
import { expect, test } from 'vitest';
import type { Pending } from '../../../src/counting/totals/accept.ts';
import { decide, pollStream } from '../../../src/counting/totals/poll.ts';
import type { RecentAnswers } from '../../../src/counting/totals/poll.ts';
import type { Baseline, StreamState } from '../../../src/counting/totals/state.ts';
import { queryFrom } from '../../support/responses.ts';
import { HOUR_MS, polledPeople } from '../fixture.ts';
import type { StreamFixture } from '../fixture.ts';

/** A response about the last minutes, after an accepted poll. */
function recentOf({ state, nowMs }: StreamFixture, sums: readonly number[]): RecentAnswers {
  const baseline = state.baseline as Baseline;
  const window = { startMs: baseline.recentStartMs, endMs: nowMs };
  const recent = { aggregation: 'minute', rows: [], sums, window, toMs: undefined };
  return { kind: 'recent', baseline, recent, atMs: nowMs };
}

test.each([
  ['one counter doubles from 20', [20, 5], [40, 5], 'needs renewal'],
  ['one does not quite double', [20, 5], [39, 5], 'accepted'],
  ['one doubles from less than 20', [19, 5], [38, 5], 'accepted'],
  ['one rises implausibly', [19, 5], [1_100, 5], 'needs renewal'],
] as const)('the last minutes are verified when %s', async (_, before, sums, result) => {
  const people = await polledPeople();
  const state = { ...people.state, recent: before };
  expect(decide(state, recentOf(people, sums), people.context()).result).toBe(result);
});

test('an implausible baseline after empty responses is not used until it is confirmed', async () => {
  const people = await polledPeople();
  const pending: Pending = { kind: 'lower', polls: 2, sinceMs: people.monotonicMs };
  const state: StreamState = { ...people.state, pending };
  people.record(people.nowMs - 2 * HOUR_MS, [90_000, 0]);
  const query = queryFrom((question) => people.respond(question));
  const outcome = await pollStream(state, 'baseline', people.context(), query);
  expect(outcome.result).toBe('pending');
  expect(outcome.state).toMatchObject({ baseline: undefined, snapshot: state.snapshot });
});
