/** The counts of days by minute or quarter-hour: what is added, packed, summed, and seen last. */
import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import type { Row } from '../../../src/base/model.ts';
import { Zone } from '../../../src/counting/calendar/zone.ts';
import {
  addWindows,
  countAt,
  countInMinute,
  DayCounter,
  lastSeenIn,
  packSteps,
  positiveSums,
  smallest,
  stepsUntil,
  weekdayOf,
} from '../../../src/counting/rows/day-counts.ts';
import type { DayCounts } from '../../../src/counting/rows/day-counts.ts';
import { CALENDAR, COPENHAGEN, NOW_MS } from '../../support/owner.ts';

/** A Wednesday. */
const DAY = CALENDAR.dayAt(NOW_MS);
const DAY_BEFORE = CALENDAR.dayBefore(DAY);
const QUARTER_MS = 15 * MINUTE_MS;
const NOBODY = [0, 0];

function counterOfBoth(): DayCounter {
  return new DayCounter(CALENDAR, [DAY_BEFORE, DAY], 'people');
}

/** Returns the counts of a step of each day, by counter. */
function countsAt(counter: DayCounter, step: number): readonly (readonly number[])[] {
  return counter.days().map((counted) => [0, 1].map((of) => countAt(counted, of, step)));
}

/** Counts of a day by step, the first of them in step 2: counters are separated by `/`. */
function countsOf(steps: string, length: Partial<DayCounts> = {}): DayCounts {
  const counts = stepsOf(steps);
  return { day: DAY, weekday: 3, stepMs: MINUTE_MS, first: 2, counts, before: NOBODY, ...length };
}

function stepsOf(text: string): Float64Array[] {
  return text.split('/').map((counter) => Float64Array.from(counter.match(/\S+/g) ?? [], Number));
}

describe('a counter of two days', () => {
  const LAST = 24 * 60 - 1;

  test.each([
    ['first', 'step of the first day', DAY_BEFORE.startMs, 0, [[3, 1], NOBODY]],
    ['last', 'step of the first day', DAY.startMs - 1, LAST, [[3, 1], NOBODY]],
    ['first', 'step of the last day', DAY.startMs, 0, [NOBODY, [3, 1]]],
  ])('adds to the %s %s', (_, _step, atMs, step, expected) => {
    const counter = counterOfBoth();
    counter.add(NOW_MS, [1, 1]);
    counter.add(atMs, [5, 1]);
    counter.add(atMs, [2, 0], -1);
    expect(countsAt(counter, step)).toEqual(expected);
    expect(counter.days().map(({ before }) => before)).toEqual([NOBODY, NOBODY]);
  });

  test('adds what is dated before the days up, by counter, for the first one', () => {
    const counter = counterOfBoth();
    counter.add(DAY_BEFORE.startMs - 1, [5, 1]);
    counter.add(DAY_BEFORE.startMs - DAY_MS, [2, 2]);
    counter.add(DAY_BEFORE.startMs - DAY_MS, [1, 0], -1);
    const days = counter.days();
    expect(days.map(({ before }) => before)).toEqual([[6, 3], NOBODY]);
    expect(days.map(positiveSums)).toEqual([NOBODY, NOBODY]);
  });

  test('ignores what is dated after the days', () => {
    const counter = counterOfBoth();
    counter.add(DAY.endMs, [5, 1]);
    expect(counter.days()).toEqual(counterOfBoth().days());
  });

  test('returns days that do not change when counts are added', () => {
    const counter = counterOfBoth();
    counter.add(DAY.startMs, [100_000, 0]);
    const days = counter.days();
    counter.add(DAY.startMs, [1, 1]);
    counter.add(DAY_BEFORE.startMs - 1, [1, 1]);
    expect(days.map(positiveSums)).toEqual([NOBODY, [100_000, 0]]);
    expect(days[0]?.before).toEqual(NOBODY);
  });

  test('adds counts of one of the days', () => {
    const [earlier, counter] = [counterOfBoth(), counterOfBoth()];
    for (const [to, startMs, counts] of [
      [earlier, DAY_BEFORE.startMs - 1, [1, 2]],
      [earlier, DAY.startMs + 3 * MINUTE_MS, [3, 1]],
      [earlier, DAY.startMs + 5 * MINUTE_MS, [5, 1]],
      [counter, DAY_BEFORE.startMs - 1, [1, 0]],
      [counter, DAY.startMs + 5 * MINUTE_MS, [2, 0]],
    ] as const) {
      to.add(startMs, counts);
    }
    earlier.days().forEach((day) => {
      counter.addDay(day);
    });
    const steps = [2, 3, 4, 5, 6].map((step) => countsAt(counter, step)[1]);
    expect(steps).toEqual([NOBODY, [3, 1], NOBODY, [7, 1], NOBODY]);
    expect(counter.days().map(positiveSums)).toEqual([NOBODY, [10, 2]]);
    expect(counter.days()[0]?.before).toEqual([2, 2]);
  });
});

describe('windows', () => {
  const WINDOWS = [
    { startMs: DAY.startMs, endMs: DAY.startMs + HOUR_MS },
    { startMs: DAY.startMs + HOUR_MS, endMs: DAY.startMs + 2 * HOUR_MS },
  ] as const;

  /** Rows of minutes after the day's start, in each of which one person came in. */
  function rowsAt(...minutes: readonly number[]): readonly Row[] {
    return minutes.map((minute) => ({ key: DAY.startMs + minute * MINUTE_MS, counts: [1, 0] }));
  }

  test('that include both edges count the minute between them once', () => {
    const counter = counterOfBoth();
    const samples = [
      { rows: rowsAt(5, 60), window: WINDOWS[0] },
      { rows: rowsAt(60, 70), window: WINDOWS[1] },
    ];
    expect(addWindows(counter, samples, COPENHAGEN, 'local')).toBe(true);
    expect(counter.days().map(positiveSums)).toEqual([NOBODY, [3, 0]]);
  });

  test('cannot be added if a key is no time', () => {
    const last = { rows: [...rowsAt(65), { key: 'x', counts: [1, 0] }], window: WINDOWS[1] };
    const first = { rows: [], window: WINDOWS[0] };
    for (const samples of [[last], [first, last]]) {
      expect(addWindows(counterOfBoth(), samples, COPENHAGEN, 'local')).toBe(false);
    }
  });
});

test.each([
  ['Pacific/Auckland', 2026, 10, 18, 3],
  ['Europe/Copenhagen', 2026, 10, 22, 0],
])('the weekday in %s is the local one', (timezone, year, month, date, expected) => {
  const zone = new Zone(timezone);
  for (const hour of [0, 23]) {
    const startMs = zone.instantOfWall(Date.UTC(year, month, date, hour));
    expect(weekdayOf({ zone }, { startMs, endMs: startMs + DAY_MS })).toBe(expected);
  }
});

test.each([
  ['nobody', '0 0 0 / 0 0 0', 0, '/'],
  ['both ends', '0 1 0 2 0 / 0 0 3 0 0', 1, '1 0 2 / 0 3 0'],
  ['a correction', '0 -1 0', 1, '-1'],
])('steps that counted %s are packed', (_, steps, first, expected) => {
  const packed = packSteps(stepsOf(steps));
  expect(packed.first).toBe(first);
  expect(packed.counts.map((counts) => Float64Array.from(counts))).toEqual(stepsOf(expected));
});

test.each([
  [Uint8Array, [0, 255]],
  [Int16Array, [-32_768, 32_767]],
])('%o holds %j', (type, counts) => {
  expect(smallest(Float64Array.from(counts))).toEqual(type.from(counts));
});

const RUNNING = { stepMs: QUARTER_MS, lastStepEndMs: DAY.startMs + 55 * MINUTE_MS };

test.each([
  ['its own counts', { stepMs: MINUTE_MS }, { 1: 0, 2: 15, 3: 30 }],
  ['a part of its quarter-hour', { stepMs: QUARTER_MS }, { 29: 0, 30: 1, 45: 2 }],
  ['a part of a running window of ten minutes', RUNNING, { 29: 0, 44: 1, 45: 3, 55: 0 }],
])('a minute has %s', (_, steps, expected) => {
  const counted = countsOf('15 30', steps);
  const counts = Object.keys(expected).map((minute) => countInMinute(counted, 0, Number(minute)));
  expect(counts).toEqual(Object.values(expected));
});

test.each([
  [-1, []],
  [2, []],
  [3, [1]],
])('steps that are over after %d quarter-hours: %j', (quarters, expected) => {
  const counted = countsOf('1 2 3', { stepMs: QUARTER_MS });
  const until = stepsUntil(counted, DAY.startMs + quarters * QUARTER_MS);
  expect(until).toEqual({ ...counted, counts: [Float64Array.from(expected)] });
});

/** Minutes 2 to 6. */
test.each([
  ['of any counter', undefined, undefined, 4],
  ['of one counter', undefined, 0, 2],
  ['that began before an instant', 4, undefined, 2],
])('the last step %s that counted anybody', (_, endMinute, counter, expected) => {
  const endMs = endMinute && DAY.startMs + endMinute * MINUTE_MS;
  const seenMs = lastSeenIn(countsOf('1 0 0 0 -1 / 0 0 2 0 0'), endMs, counter);
  expect(seenMs).toBe(DAY.startMs + expected * MINUTE_MS);
});
