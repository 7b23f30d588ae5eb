/** A diagnosis of a stream: what the exporter's first polls would come to, and what explains it. */
import { expect, test } from 'vitest';
import { diagnoseStream } from '../../../src/counting/check/diagnose.ts';
import type { StreamDiagnosis } from '../../../src/counting/check/diagnose.ts';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import { pollStream } from '../../../src/counting/totals/poll.ts';
import { POLLS_TO_CONFIRM } from '../../../src/counting/totals/accept.ts';
import { INITIAL_STATE } from '../../../src/counting/totals/state.ts';
import { queryFrom, responseOf } from '../../support/responses.ts';
import type { Requested } from '../../support/responses.ts';
import { forcedAbove, MINUTE_KEYS } from '../../support/simulated-people.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, StreamFixture } from '../fixture.ts';

/** The third of a month, a Tuesday, 11:00 in Copenhagen. */
const NOW_MS = Date.UTC(2026, 10, 3, 10);
const MORNING = [5 * MINUTE_MS, 20 * MINUTE_MS, 2 * HOUR_MS];

/** Diagnoses people who came `agoMs` before now, one in at each. `day` may lag. */
async function diagnose(conventions: Partial<Conventions>, agoMs: readonly number[], dayLagMs = 0) {
  const records = agoMs.map((ms) => [ms, [1, 0]] as const);
  const people = new StreamFixture({ startMs: NOW_MS, records, conventions });
  people.change((response, question) =>
    response.aggregation === 'day'
      ? people.service.respond({ ...question, aggregation: 'day' }, NOW_MS - dayLagMs)
      : response,
  );
  const requests: Requested[] = [];
  const query = queryFrom((question) => people.respond(question), requests);
  const diagnosis = await diagnoseStream(people.context(), query);
  return { diagnosis, requests: requests.length };
}

test('a plain service takes the requests of one poll and two more', async () => {
  const { diagnosis, requests } = await diagnose({}, MORNING);
  expect(diagnosis).toMatchObject({
    day: { agrees: true },
    isMinuteForced: false,
    key: '2026-11-03T10:55:00+01:00',
    keyTimesFit: { kind: 'no finding' },
    lastSeenMs: NOW_MS - 5 * MINUTE_MS,
    state: { snapshot: { totals: [3, 0], today: [3, 0] } },
  });
  expect(requests).toBe(7);
});

const UNKNOWN = { agrees: undefined };

/** `day` has fewer people than `minute`. */
function differs(totalAggregation: 'day' | 'quarter', byDay: number, byMinute: number) {
  return { agrees: false, totalAggregation, byDay: [byDay, 0], byMinute: [byMinute, 0] } as const;
}

/** All minutes are listed; above a limit they are forced into days. */
function listed(limit: number): Partial<Conventions> {
  return { ...forcedAbove(limit), emptyBuckets: 'listed' };
}

test.each<[string, Partial<Conventions>, readonly number[], Partial<StreamDiagnosis>]>([
  ['with nobody in it cannot be compared', {}, [], { day: UNKNOWN, lastSeenMs: undefined }],
  ['that lags is compared', {}, MORNING, { day: differs('quarter', 1, 3), isMinuteForced: false }],
  ['that lags is found by half an hour', listed(40), MORNING, { day: differs('day', 0, 2) }],
  ['that lags is not compared', listed(20), MORNING, { day: UNKNOWN, isMinuteForced: true }],
])('a day %s', async (_, conventions, agoMs, expected) => {
  const { diagnosis } = await diagnose(conventions, agoMs, HOUR_MS);
  expect(diagnosis).toMatchObject(expected);
  expect(diagnosis.state.snapshot).toBeDefined();
});

test.each([2, 13])('a newest minute %d days ago is found', async (days) => {
  const agoMs = [days * DAY_MS, days * DAY_MS + HOUR_MS];
  const { diagnosis } = await diagnose({ minuteKey: MINUTE_KEYS.seconds }, agoMs);
  expect(diagnosis.lastSeenMs).toBe(NOW_MS - days * DAY_MS);
  expect(diagnosis.key).toBe((NOW_MS - days * DAY_MS) / 1000);
});

test('totals that differ at each request are polled as often as empty ones, without a result', async () => {
  const people = new StreamFixture({ startMs: NOW_MS, records: [] });
  const requests: Requested[] = [];
  const query = queryFrom(({ aggregation }) => {
    const count = aggregation === 'minute' ? requests.length : 100_000 - requests.length;
    return responseOf({ x: [count, 0] }, aggregation);
  }, requests);
  await pollStream(INITIAL_STATE, 'baseline', people.context(), query);
  const ofOnePoll = requests.splice(0).length;
  const { state, result, ...diagnosis } = await diagnoseStream(people.context(), query);
  expect([state.snapshot, result]).toEqual([undefined, 'pending']);
  expect(diagnosis).toMatchObject({ day: UNKNOWN, isMinuteForced: false });
  // And one to look back.
  expect(requests).toHaveLength(POLLS_TO_CONFIRM * ofOnePoll + 1);
});
