/** A diagnosis of a stream: what the exporter's first polls would come to, and what explains it. */
import { expect, test } from 'vitest';
import { diagnoseStream } from '../../src/counting/diagnose.ts';
import type { StreamDiagnosis } from '../../src/counting/diagnose.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { queryFrom } from '../support/responses.ts';
import type { Requested } from '../support/responses.ts';
import { forcedAbove, MINUTE_KEYS } from '../support/simulated-people.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, StreamFixture } from './fixture.ts';

/** The third of a month, a Tuesday, 11:00 in Copenhagen. */
const NOW_MS = Date.UTC(2026, 10, 3, 10);
const MORNING = [5 * MINUTE_MS, 20 * MINUTE_MS, 2 * HOUR_MS];

/** Diagnoses people who came `agoMs` before now, one in at each. `day` may lag. */
async function diagnose(
  conventions: Partial<Conventions>,
  agoMs: readonly number[],
  dayLagMs = 0,
): Promise<{ readonly diagnosis: StreamDiagnosis; readonly requests: number }> {
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

test('a plain service takes the requests of one poll and one more', async () => {
  const { diagnosis, requests } = await diagnose({}, MORNING);
  expect(diagnosis).toMatchObject({
    day: { agrees: true },
    keyFormat: { status: 'detected' },
    lastSeenMs: NOW_MS - 5 * MINUTE_MS,
    state: { snapshot: { totals: [3, 0], today: [3, 0] } },
  });
  expect(requests).toBe(6);
});

test.each<[string, Partial<Conventions>, readonly number[], Partial<StreamDiagnosis>]>([
  [
    'with nobody in it cannot be compared',
    {},
    [],
    { day: { agrees: undefined }, lastSeenMs: undefined },
  ],
  [
    'that lags is compared with the minutes',
    {},
    MORNING,
    {
      day: { agrees: false, totalAggregation: 'quarter', byDay: [1, 0], byMinute: [3, 0] },
      isMinuteForced: false,
    },
  ],
  [
    'that lags is found although the minutes of today are forced into days',
    { ...forcedAbove(40), emptyBuckets: 'listed' },
    MORNING,
    { day: { agrees: false, totalAggregation: 'day', byDay: [0, 0], byMinute: [2, 0] } },
  ],
  [
    'that lags cannot be compared if half an hour by minute is forced into days',
    { ...forcedAbove(20), emptyBuckets: 'listed' },
    MORNING,
    { day: { agrees: undefined }, isMinuteForced: true },
  ],
])('a day %s', async (_, conventions, agoMs, expected) => {
  const { diagnosis } = await diagnose(conventions, agoMs, HOUR_MS);
  expect(diagnosis).toMatchObject(expected);
  expect(diagnosis.state.snapshot).toBeDefined();
});

test.each([2, 9, 13])('a newest minute %d days ago is found, and its key format', async (days) => {
  const agoMs = [days * DAY_MS, days * DAY_MS + HOUR_MS];
  const { diagnosis } = await diagnose({ minuteKey: MINUTE_KEYS.seconds }, agoMs);
  expect(diagnosis.lastSeenMs).toBe(NOW_MS - days * DAY_MS);
  expect(diagnosis.keyFormat).toMatchObject({
    status: 'detected',
    formats: [{ form: 'epoch_seconds' }],
  });
});
