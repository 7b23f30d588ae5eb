/** A diagnosis of a stream: what the exporter's first polls would come to, and what explains it. */
import { expect, test } from 'vitest';
import type { WindowQuery } from '../../src/base/model.ts';
import { diagnoseStream } from '../../src/counting/diagnose.ts';
import type { StreamDiagnosis } from '../../src/counting/diagnose.ts';
import { streamContext } from '../../src/polling/poll-job.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { queryFrom } from '../support/ask.ts';
import { customerNamed } from '../support/polled.ts';
import { forcedAbove, MINUTE_KEYS, SimulatedPeople } from '../support/simulated-people.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** The third of a month, a Tuesday, 11:00 in Copenhagen. */
const NOW_MS = Date.UTC(2026, 10, 3, 10);

/** A diagnosis of people who came `agoMs` before now, one in at each. */
async function diagnosed(
  conventions: Partial<Conventions>,
  agoMs: readonly number[],
  dayLagMs = 0,
): Promise<Readonly<{ diagnosis: StreamDiagnosis; asked: number }>> {
  const service = new SimulatedPeople(conventions);
  agoMs.forEach((ms) => service.record(NOW_MS - ms, [1, 0]));
  const times = {
    clock: { nowMs: () => NOW_MS, monotonicMs: () => 0 },
    serviceNowMs: () => NOW_MS,
    reconcileIntervalMs: 0,
  };
  const context = {
    ...streamContext(customerNamed('riverside'), 'people', times, 0),
    beginBaseline: () => true,
    hasTime: () => true,
  };
  const asked: WindowQuery[] = [];
  const query = queryFrom((question) => {
    const response = service.answer(question, NOW_MS);
    return response.aggregation === 'day'
      ? service.answer({ ...question, aggregation: 'day' }, NOW_MS - dayLagMs)
      : response;
  }, asked);
  const diagnosis = await diagnoseStream(context, query);
  return { diagnosis, asked: asked.length };
}

const MORNING = [5 * MINUTE_MS, 20 * MINUTE_MS, 2 * HOUR_MS];

test('a plain service takes the requests of one poll and one more', async () => {
  const { diagnosis, asked } = await diagnosed({}, MORNING);
  expect(diagnosis).toMatchObject({
    day: { agrees: true },
    keyFormat: { status: 'detected' },
    lastSeenMs: NOW_MS - 5 * MINUTE_MS,
    state: { snapshot: { totals: [3, 0], today: [3, 0] } },
  });
  expect(asked).toBe(6);
});

test('an empty answer is confirmed, and there is nothing to compare', async () => {
  const { diagnosis } = await diagnosed({}, []);
  expect(diagnosis).toMatchObject({
    day: { agrees: undefined },
    keyFormat: { status: 'ambiguous' },
    lastSeenMs: undefined,
    state: { snapshot: { totals: [0, 0] } },
  });
});

test.each<[string, Partial<Conventions>, Partial<StreamDiagnosis>]>([
  [
    'is compared with the minutes',
    {},
    {
      day: { agrees: false, totalAggregation: 'quarter', byDay: [1, 0], byMinute: [3, 0] },
      isMinuteForced: false,
    },
  ],
  [
    'is found although the minutes of today are forced into days',
    { ...forcedAbove(40), emptyBuckets: 'listed' },
    { day: { agrees: false, totalAggregation: 'day', byDay: [0, 0], byMinute: [2, 0] } },
  ],
  [
    'cannot be compared if half an hour by minute is forced into days',
    { ...forcedAbove(20), emptyBuckets: 'listed' },
    { day: { agrees: undefined }, isMinuteForced: true },
  ],
])('a day that lags %s', async (_, conventions, expected) => {
  const { diagnosis } = await diagnosed(conventions, MORNING, HOUR_MS);
  expect(diagnosis).toMatchObject(expected);
});

test.each([2, 9, 13])('a newest minute %d days ago is found, and its key format', async (days) => {
  const { diagnosis } = await diagnosed({ minuteKey: MINUTE_KEYS.seconds }, [
    days * DAY_MS,
    days * DAY_MS + HOUR_MS,
  ]);
  expect(diagnosis.lastSeenMs).toBe(NOW_MS - days * DAY_MS);
  expect(diagnosis.keyFormat).toMatchObject({
    status: 'detected',
    formats: [{ form: 'epoch_seconds' }],
  });
});
