import { expect, test } from 'vitest';
import { learnDoors, QUARTERS_PER_DAY } from '../../../src/counting/occupancy/door-model.ts';
import { parseOpeningHours } from '../../../src/counting/calendar/opening-hours.ts';
import { findClosingMinute } from '../../../src/counting/occupancy/today-estimate.ts';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import { dayOf } from '../../support/day-counts.ts';
import { CALENDAR } from '../../support/owner.ts';
import { ESTIMATED } from '../../support/polled.ts';
import { countedPeople, MINUTE_MS } from '../counted.ts';
import type { CountedStream } from '../counted.ts';

const START_MS = Date.UTC(2026, 10, 18, 8);
const TODAY = CALENDAR.dayAt(START_MS);

/** Exits are counted at 90 %, entries fully. Open from 8 to 16 o'clock. */
function doorsBefore(emptyAtNight = true) {
  const entered = Array.from({ length: QUARTERS_PER_DAY }, (_, quarter): number =>
    quarter >= 16 && quarter < 48 ? 20 : 0,
  );
  const exited = entered.map<number>((_, quarter) => (quarter >= 20 && quarter < 52 ? 18 : 0));
  const night = emptyAtNight ? 0 : 9;
  const day = {
    entered: entered.with(95, night),
    exited: exited.with(95, night).with(30, 18 + night),
  };
  return learnDoors(
    Array.from({ length: 28 }, (_, i) => dayOf({ weekday: i % 7, ...day })),
    3,
  );
}

function polledStream(conventions: Partial<Conventions> = {}): CountedStream {
  const { counted, record } = countedPeople({ startMs: START_MS, records: [], conventions });
  for (let minute = 0; minute < 480; minute++) {
    const eventMs = START_MS - 60 * MINUTE_MS + minute * MINUTE_MS + 20_000;
    const arrivesMs = eventMs + (minute % 11 === 0 ? 8 * MINUTE_MS : 0);
    record(eventMs, [minute % 3, Number(minute % 2 > 0)], { arrivesMs });
  }
  counted.customer.setDescription(ESTIMATED);
  return counted;
}

test.each([
  ['of records by event', {}],
  ['of records by arrival', { windowTime: 'server' }],
] as const)(
  'a poll that continues the last one gives the same estimate: %s',
  async (_, service) => {
    const continued = polledStream(service);
    const doors = doorsBefore();
    continued.customer.doorsLearned(TODAY, doors);
    for (let minute = 0; minute < 75; minute++) {
      await continued.poll();

      const restarted = polledStream(service);
      restarted.nowMs = continued.nowMs;
      restarted.customer.doorsLearned(TODAY, doors);
      await restarted.poll();
      const { estimate } = continued.figures();
      expect(estimate.people?.people).toBeGreaterThan(0);
      expect(restarted.figures().estimate).toEqual(estimate);
      continued.nowMs += MINUTE_MS;
    }
  },
);

test('follows the age of the poll and the day, the ratio stays until the day after', async () => {
  const stream = polledStream();
  stream.customer.doorsLearned(TODAY, doorsBefore());
  await stream.poll();
  expect(stream.figures().estimate).toMatchObject({ fault: 'none', isEstimable: true });
  stream.nowMs += 16 * MINUTE_MS;
  expect(stream.figures().estimate).toMatchObject({ people: undefined, fault: undefined });
  expect(stream.figures().estimate.ratio?.value).toBeCloseTo(1 / 0.9, 1);
  stream.nowMs = TODAY.endMs + MINUTE_MS;
  expect(stream.figures().estimate.ratio?.value).toBeCloseTo(1 / 0.9, 1);
  stream.nowMs += 24 * 60 * MINUTE_MS;
  expect(stream.figures().estimate.ratio).toBeUndefined();
});

test('a library that is not empty at night has a ratio, but no estimate', async () => {
  const stream = polledStream();
  stream.customer.doorsLearned(TODAY, doorsBefore(false));
  await stream.poll();
  expect(stream.figures().occupancy).toBeGreaterThan(0);
  expect(stream.figures().estimate).toMatchObject({
    people: undefined,
    fault: undefined,
    isEstimable: false,
  });
});

test.each([
  ['Mo-Su 08:00-20:00', 16 * 60],
  ['Mo-Su 08:00-12:00,14:00-18:00', 14 * 60],
  ['Mo-Su 10:00-02:00', 22 * 60],
  ['Mo,Tu 08:00-20:00', 0],
  ['Mo-Su 08:00-05:00', Infinity],
  ['24/7', Infinity],
])('with the hours %s it is closed from minute %d of a Wednesday on', (hours, minute) => {
  const openingHours = parseOpeningHours(hours, undefined);
  expect(findClosingMinute(TODAY, openingHours, 'Europe/Copenhagen')).toBe(minute);
});
