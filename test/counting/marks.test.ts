import { describe, expect, test } from 'vitest';
import type { Reading } from '../../src/base/nouns.ts';
import { Marks } from '../../src/counting/marks.ts';
import { Zone } from '../../src/counting/zone.ts';
import { CountedStream, RECONCILE_MS } from '../support/counted-stream.ts';
import { NOVEMBER, NOW_MS, OCTOBER, OWNER } from '../support/owner.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

type Entry = readonly (string | number | boolean | null)[];

const GOOD: Entry = [
  OWNER.service,
  OWNER.clientId,
  OWNER.customer,
  'logins',
  NOVEMBER.startMs,
  NOVEMBER.month,
  7,
  NOW_MS,
];

function textOf(entries: readonly unknown[]): string {
  return JSON.stringify({ format: 'library-stats-exporter marks', version: 1, marks: entries });
}

function restoredFrom(entries: readonly unknown[], nowMs = NOW_MS) {
  const marks = new Marks();
  const leftOut = marks.restore(textOf(entries), nowMs);
  return { value: marks.get(OWNER, 'logins')?.value, leftOut, marks };
}

describe('a hand-edited mark', () => {
  test.each<[string, unknown]>([
    ['a value in quotes', GOOD.with(6, '7')],
    ['a negative value', GOOD.with(6, -1)],
    ['a fraction', GOOD.with(6, 7.5)],
    ['a value beyond all integers', GOOD.with(6, 1e300)],
    ['a value beyond the safe integers', GOOD.with(6, 2 ** 53)],
    ['no value', GOOD.with(6, null)],
    ['a truth in place of a value', GOOD.with(6, true)],
    ['an epoch in words', GOOD.with(4, '2026-11-01')],
    ['an epoch long ago', GOOD.with(4, OCTOBER.startMs - 45 * DAY_MS).with(5, 24319)],
    ['an epoch that is not of its month', GOOD.with(5, 24325)],
    ['a month that never ends', GOOD.with(5, 99_999_999)],
    ['a month without a date', GOOD.with(5, Number.MAX_SAFE_INTEGER)],
    ['an owner without a name', GOOD.with(2, null)],
    ['too few fields', GOOD.slice(1)],
    ['too many fields', [...GOOD, 1]],
    ['an object', { ...OWNER, value: 7 }],
    ['nothing', null],
  ])('with %s is left out alone', (_, entry) => {
    expect(restoredFrom([entry])).toMatchObject({ value: undefined, leftOut: 1 });
    const other = GOOD.with(3, 'people_entered');
    const { marks, leftOut } = restoredFrom([entry, other]);
    expect(leftOut).toBe(1);
    expect(marks.get(OWNER, 'people_entered')?.value).toBe(7);
  });

  test.each([[[5, 7, 6]], [[7, 5, 6]], [[5, 6, 7]]])(
    'that is there several times, with %j, counts as the highest',
    (values) => {
      const { value, leftOut, marks } = restoredFrom(values.map((copy) => GOOD.with(6, copy)));
      expect({ value, leftOut }).toEqual({ value: 7, leftOut: 0 });
      expect(marks.serialize(NOW_MS).match(/riverside-api/g)).toHaveLength(1);
    },
  );

  test('of an epoch in the future moves nothing', () => {
    const december = GOOD.with(4, NOVEMBER.endMs).with(5, 24323).with(6, 9000);
    const counted = countedStream(() => 40);
    counted.marks.restore(textOf([december]), NOW_MS);
    counted.poll();
    expect(counted.figures().epochStartMs).toBe(NOVEMBER.startMs);
    expect(counted.totals()).toEqual([40]);
  });
});

describe('the marks', () => {
  test('come back as they were', () => {
    const marks = new Marks();
    const odd = { service: 'a"b', clientId: 'c\\d', customer: 'é,]\n' };
    marks.raise(odd, 'logins', NOVEMBER, 412, NOW_MS);
    const again = new Marks();
    expect(again.restore(marks.serialize(NOW_MS), NOW_MS)).toBe(0);
    expect(again.get(odd, 'logins')).toEqual(marks.get(odd, 'logins'));
    expect(again.serialize(NOW_MS)).toBe(marks.serialize(NOW_MS));
  });

  test('of two epochs are two, and an older one is not lost by a newer one', () => {
    const marks = new Marks();
    marks.raise(OWNER, 'logins', OCTOBER, 900, NOW_MS);
    marks.raise(OWNER, 'logins', NOVEMBER, 7, NOW_MS);
    expect(marks.raise(OWNER, 'logins', OCTOBER, 899, NOW_MS)).toBe(900);
    expect(marks.raise(OWNER, 'logins', NOVEMBER, 6, NOW_MS)).toBe(7);
    const again = new Marks();
    again.restore(marks.serialize(NOW_MS), NOW_MS);
    expect(again.get(OWNER, 'logins')?.value).toBe(7);
    expect(again.ofEpoch(OWNER, 'logins', OCTOBER.startMs)?.value).toBe(900);
  });

  test('are kept of three epochs at most, over years', () => {
    const marks = new Marks();
    for (let i = 0; i < 60; i++) {
      const startMs = Date.UTC(2026, i, 1, 3);
      const epoch = { startMs, endMs: Date.UTC(2026, i + 1, 1, 3), month: 2026 * 12 + i };
      marks.raise(OWNER, 'logins', epoch, 5, startMs);
    }
    expect(marks.serialize(0).match(/riverside-api/g)).toHaveLength(3);
  });

  test('of customers that are gone leave the file after some months', () => {
    const marks = new Marks();
    marks.raise(OWNER, 'logins', NOVEMBER, 7, NOW_MS);
    expect(marks.serialize(NOVEMBER.startMs + 70 * DAY_MS)).toContain('riverside');
    expect(marks.serialize(NOVEMBER.startMs + 71 * DAY_MS)).not.toContain('riverside');
  });

  test('survive a start at which our clock is decades behind', () => {
    const { value, marks } = restoredFrom([GOOD], Date.UTC(1970, 0, 1));
    expect(value).toBe(7);
    expect(marks.serialize(Date.UTC(1970, 0, 1))).toContain('riverside');
  });
});

/** Logins whose total since the epoch is whatever a test says; every other window holds nothing. */
function countedStream(total: () => number, nowMs = NOW_MS): CountedStream {
  return new CountedStream(
    COPENHAGEN,
    nowMs,
    ({ aggregation }): Reading => ({
      aggregation,
      // Without keys: neither occupancy nor last seen matters here.
      rows: [{ key: 'x', counts: [total()] }],
    }),
    'logins',
  );
}

const COPENHAGEN = new Zone('Europe/Copenhagen');

/** A stream whose every poll is an anchor with the given total; what is shown after each of them. */
function shownAfter(
  readings: readonly (number | 'fails')[],
  options: {
    readonly startMs?: number;
    readonly everyMs?: number;
    readonly restart?: boolean;
  } = {},
): (number | undefined)[] {
  const { startMs = NOW_MS, everyMs = MINUTE_MS, restart = false } = options;
  let reading: number | 'fails' = 0;
  const counted = countedStream(() => {
    if (reading === 'fails') {
      throw new Error('the service is away');
    }
    return reading;
  }, startMs);
  return readings.map((next, i) => {
    reading = next;
    if (i > 0) {
      counted.nowMs += everyMs;
      if (restart) {
        counted.restart();
      }
    }
    counted.poll();
    return counted.totals()[0];
  });
}

describe('a reading out of all proportion', () => {
  test.each<[string, (number | 'fails')[], (number | undefined)[]]>([
    ['is no rise of exactly 1,000', [400, 1400], [400, 1400]],
    ['is a rise of one more', [400, 1401, 1401], [400, 400, 1401]],
    ['is believed when more has come meanwhile', [400, 5000, 5040], [400, 400, 5040]],
    [
      'that is lower when it comes again has to come again',
      [400, 9e4, 8e4, 8e4],
      [400, 400, 400, 8e4],
    ],
    [
      'that is one lower has to come again too',
      [400, 9e4, 89_999, 89_999],
      [400, 400, 400, 89_999],
    ],
    ['that is much higher has to come again', [400, 9e4, 2e5, 200_500], [400, 400, 400, 200_500]],
    ['that does not come again is forgotten', [400, 9e4, 401, 9e4, 402], [400, 400, 401, 401, 402]],
    ['waits over a poll that fails', [400, 9e4, 'fails', 9e4], [400, 400, 400, 9e4]],
    ['that comes twice is believed, and held then', [400, 9e4, 9e4, 401], [400, 400, 9e4, 9e4]],
  ])('%s', (_, readings, shown) => {
    expect(shownAfter(readings)).toEqual(shown);
  });

  test('is more than 1,000 for each minute since the last good poll', () => {
    const outage = Array.from({ length: 59 }, () => 'fails' as const);
    expect(shownAfter([1e5, ...outage, 160_000]).at(-1)).toBe(160_000);
    expect(shownAfter([1e5, ...outage, 160_001]).at(-1)).toBe(1e5);
    expect(shownAfter([1e5, ...outage, 160_001, 160_001]).at(-1)).toBe(160_001);
  });

  test('is more than twice the total of an epoch that is a day old', () => {
    const everyMs = 10 * MINUTE_MS;
    expect(shownAfter([5000, 10_000], { everyMs })).toEqual([5000, 10_000]);
    expect(shownAfter([5000, 10_001], { everyMs })).toEqual([5000, 5000]);
    const old = NOVEMBER.startMs + DAY_MS - everyMs;
    expect(shownAfter([5000, 10_001], { everyMs, startMs: old })).toEqual([5000, 5000]);
    expect(shownAfter([5000, 10_001], { everyMs, startMs: old - 1 })).toEqual([5000, 10_001]);
  });

  test('is measured against the mark and its time after a restart', () => {
    const everyMs = 60 * MINUTE_MS;
    const options = { everyMs, restart: true };
    expect(shownAfter([1e5, 160_000], options)).toEqual([1e5, 160_000]);
    expect(shownAfter([1e5, 160_001], options)).toEqual([1e5, undefined]);
    expect(shownAfter([5000, 10_001], options)).toEqual([5000, undefined]);
  });

  test('shows nothing after a restart before it has come again', () => {
    let total = 400;
    const counted = countedStream(() => total);
    counted.poll();
    counted.restart();
    total = 90_000;
    counted.nowMs += MINUTE_MS;
    counted.poll();
    expect(counted.totals()).toEqual([undefined]);
    counted.nowMs += MINUTE_MS;
    counted.poll();
    expect(counted.totals()).toEqual([90_000]);
  });

  test('at the first poll of all is more than 1,000 a minute since the epoch began', () => {
    const startMs = NOVEMBER.startMs + 100 * MINUTE_MS;
    expect(shownAfter([100_000], { startMs })).toEqual([100_000]);
    expect(shownAfter([100_001, 100_001], { startMs })).toEqual([undefined, 100_001]);
  });

  test('in one direction keeps back both: a poll is taken whole', () => {
    let counts = [40, 39];
    const counted = new CountedStream(COPENHAGEN, NOW_MS, ({ aggregation }) => ({
      aggregation,
      rows: [{ key: 'x', counts }],
    }));
    counted.poll();
    counts = [90_000, 40];
    counted.nowMs += MINUTE_MS;
    counted.poll();
    expect(counted.totals()).toEqual([40, 39]);
  });
});

describe('a mark that is far above the service', () => {
  test('is shown, with what it holds, until its line is deleted', () => {
    let total = 40;
    const counted = countedStream(() => total);
    const planted = [GOOD.with(6, 9_000_000), GOOD.with(2, 'hilltop').with(6, 12)];
    counted.marks.restore(textOf(planted), NOW_MS);
    counted.poll();
    expect(counted.totals()).toEqual([9_000_000]);
    expect(counted.held()).toEqual([8_999_960]);
    expect(counted.today()).toEqual([40]);
    total = 41;
    counted.nowMs += RECONCILE_MS;
    counted.poll();
    expect(counted.totals()).toEqual([9_000_000]);
    expect(counted.held()).toEqual([8_999_959]);

    const text = counted.marks.serialize(counted.nowMs);
    const lines = text.split('\n').filter((line) => !line.includes(',9000000,'));
    counted.restart(false);
    // As an editor leaves it: a comma after what is now the last line is taken out too.
    expect(counted.marks.restore(lines.join('\n').replace(/,\n\]/, '\n]'), counted.nowMs)).toBe(0);
    counted.poll();
    expect(counted.totals()).toEqual([41]);
    expect(counted.held()).toEqual([0]);
  });

  test('of the largest value that a file can hold is exact still', () => {
    const counted = countedStream(() => 40);
    counted.marks.restore(textOf([GOOD.with(6, Number.MAX_SAFE_INTEGER)]), NOW_MS);
    counted.poll();
    expect(counted.totals()).toEqual([Number.MAX_SAFE_INTEGER]);
    expect(counted.held()).toEqual([Number.MAX_SAFE_INTEGER - 40]);
  });
});
