import { Temporal } from 'temporal-polyfill';
import { beforeAll, describe, expect, test } from 'vitest';
import { MINUTE_MS } from '../../../src/base/duration.ts';
import { KEY_TIMES } from '../../../src/base/model.ts';
import type { Key, KeyTimes } from '../../../src/base/model.ts';
import { Zone } from '../../../src/counting/calendar/zone.ts';
import { parseKey, parseRows, unreadableKey } from '../../../src/counting/rows/keys.ts';
import { plainConventions } from '../../../src/simulator/conventions.ts';
import { createBuckets } from '../../../src/simulator/keys.ts';
import { createZones } from '../../../src/simulator/zone.ts';
import { COPENHAGEN } from '../../support/owner.ts';
import { fittingKeyTimes, MINUTE_KEYS } from '../../support/simulated-people.ts';

/** 13:07 in Copenhagen on a winter's day. */
const MINUTE = Date.UTC(2026, 10, 18, 12, 7);

test.each<[Key]>([
  ['2026-11-18T12:07:00Z'],
  ['2026-11-18T13:07:00+01:00'],
  ['2026-11-18 13:07+0100'],
  ['2026-11-18T09:37:00-02:30'],
  [MINUTE],
  [String(MINUTE)],
  [MINUTE / 1000],
  [String(MINUTE / 1000)],
])('%j explains itself', (key) => {
  expect(KEY_TIMES.map((keyTimes) => parseKey(key, COPENHAGEN, keyTimes))).toEqual([
    MINUTE,
    MINUTE,
  ]);
});

test.each<[Key, KeyTimes, number]>([
  ['2026-11-18T13:07', 'local', MINUTE],
  ['2026-11-18t13:07:59.999', 'local', MINUTE],
  ['2026-11-18T12:07:00', 'utc', MINUTE],
  ['2026-07-01T14:00:00', 'local', Date.UTC(2026, 6, 1, 12)],
  ['2026-03-29T02:30:00', 'local', Date.UTC(2026, 2, 29, 1, 30)],
])('%j is a time in the zone of the setting %s', (key, keyTimes, expected) => {
  expect(parseKey(key, COPENHAGEN, keyTimes)).toBe(expected);
});

test.each<[Key]>([
  [''],
  ['2026-11-18'],
  ['2026-13-18T10:00:00'],
  ['2026-02-29T15:03:00'],
  ['2026-11-18T13:60:00'],
  ['2026-11-18T13:07:00+1:00'],
  ['2026/11/18T13:07:00'],
  [202611181307],
  [787],
  ['1e12'],
])('%j is not parsed', (key) => {
  expect(KEY_TIMES.map((keyTimes) => parseKey(key, COPENHAGEN, keyTimes))).toEqual([
    undefined,
    undefined,
  ]);
});

function rowsOf(keys: readonly Key[]) {
  return keys.map((key) => ({ key, counts: [1, 0] }));
}

test('rows are not parsed if one of their keys is not, and that one is named', () => {
  const window = { startMs: MINUTE, endMs: MINUTE + MINUTE_MS };
  const rows = rowsOf([MINUTE, `"${'x'.repeat(100)}`, 'y']);
  expect(parseRows({ rows, window }, COPENHAGEN, 'local')).toBeUndefined();
  expect(unreadableKey(rows)).toBe(`"\\"${'x'.repeat(37)}`);
  expect(unreadableKey(rowsOf([MINUTE]))).toBeUndefined();
});

describe('in the night in which clocks are set back', () => {
  /** 03:00 in summer, 02:00 in winter. */
  const CHANGE = Date.UTC(2026, 9, 25, 1);
  const DAY = { startMs: CHANGE - 23 * 60 * MINUTE_MS, endMs: CHANGE + 5 * 60 * MINUTE_MS };

  test.each<[string, readonly string[], readonly number[], object]>([
    ['one row is of the earlier hour', ['02:30'], [-30], {}],
    [
      'a row after a later time is of the later hour',
      ['02:50', '02:10', '02:20'],
      [-10, 10, 20],
      {},
    ],
    ['the second of equal times is, too', ['02:30', '02:30'], [-30, 30], {}],
    ['in descending order likewise', ['03:10', '02:20', '02:50', '01:50'], [70, 20, -10, -70], {}],
    ['a window that starts later has only the later hour', ['02:30'], [30], { startMs: CHANGE }],
    [
      'a window that ends before it has only the earlier one',
      ['02:50', '02:10'],
      [-10, -50],
      { endMs: CHANGE - 5 * MINUTE_MS },
    ],
    // By its edges, a window may have a row of the minute before it, or after.
    ['a row before a window is earlier', ['02:30'], [-30], { startMs: CHANGE - 29 * MINUTE_MS }],
    [
      'one after it is later',
      ['02:20', '02:50', '02:10'],
      [-40, -10, 10],
      { endMs: CHANGE + 9 * MINUTE_MS },
    ],
    [
      'but not by more',
      ['02:20', '02:50', '02:10'],
      [-40, -10, -50],
      { endMs: CHANGE + 8 * MINUTE_MS },
    ],
  ])('%s', (_, times, expected, window) => {
    const rows = rowsOf(times.map((time) => `2026-10-25T${time}:00`));
    const startsMs = parseRows({ rows, window: { ...DAY, ...window } }, COPENHAGEN, 'local');
    expect(startsMs?.map((ms) => (ms - CHANGE) / MINUTE_MS)).toEqual(expected);
  });
});

describe('a night of minutes', () => {
  const simulatedZones = createZones();
  /** All changes of all zones within two years, equal ones of several zones once. */
  const changes = new Map<string, readonly [zone: string, atMs: number]>();
  beforeAll(() => {
    for (const name of Intl.supportedValuesOf('timeZone')) {
      const start = Temporal.Instant.from('2026-01-01T00:00:00Z').toZonedDateTimeISO(name);
      const first = start.getTimeZoneTransition('next');
      for (const at of [first, first?.getTimeZoneTransition('next')]) {
        if (at && at.year < 2028) {
          const change = [at.epochMilliseconds, at.subtract({ nanoseconds: 1 }).offset, at.offset];
          changes.set(change.join(' '), [name, at.epochMilliseconds]);
        }
      }
    }
  });

  test.each(Object.entries(MINUTE_KEYS))(
    'with keys %s is parsed at every change of clocks, in both orders',
    (_, minuteKey) => {
      const conventions = { ...plainConventions, minuteKey };
      const wrong: string[] = [];
      for (const [name, changeMs] of changes.values()) {
        const zones = [simulatedZones(name), simulatedZones('UTC')] as const;
        const buckets = createBuckets('minute', conventions, ...zones);
        const window = { startMs: changeMs - 100 * MINUTE_MS, endMs: changeMs + 100 * MINUTE_MS };
        const written = Array.from({ length: 200 }, (__, i) => window.startMs + i * MINUTE_MS);
        const rows = rowsOf(
          written.map((ms) => JSON.parse(buckets.key(buckets.bucketOf(ms), 0)) as Key),
        );
        const parsed = [rows, rows.toReversed()].map((inOrder) =>
          parseRows({ rows: inOrder, window }, new Zone(name), fittingKeyTimes(minuteKey)),
        );
        if (
          parsed[0]?.join() !== written.join() ||
          parsed[1]?.toReversed().join() !== written.join()
        ) {
          wrong.push(`${name} ${changeMs}`);
        }
      }
      expect(changes.size).toBeGreaterThan(30);
      expect(wrong).toEqual([]);
    },
  );
});
