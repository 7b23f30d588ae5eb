import { Temporal } from 'temporal-polyfill';
import { describe, expect, test } from 'vitest';
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

function parsed(key: Key) {
  return KEY_TIMES.map((keyTimes) => parseKey(key, COPENHAGEN, keyTimes));
}

test.each([
  '2026-11-18T12:07:00Z',
  '2026-11-18T13:07:00+01:00',
  '2026-11-18 13:07+0100',
  '2026-11-18T09:37:00-02:30',
  MINUTE,
  String(MINUTE),
  MINUTE / 1000,
  String(MINUTE / 1000),
])('%j explains itself', (key) => {
  expect(parsed(key)).toEqual([MINUTE, MINUTE]);
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

test.each([
  '',
  '2026-11-18',
  '2026-13-18T10:00:00',
  '2026-02-29T15:03:00',
  '2026-11-18T13:60:00',
  '2026-11-18T13:07:00+1:00',
  '2026/11/18T13:07:00',
  202611181307,
  787,
  '1e12',
])('%j is not parsed', (key) => {
  expect(parsed(key)).toEqual([undefined, undefined]);
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

  function windowFrom(minutes: number) {
    return { ...DAY, startMs: CHANGE + minutes * MINUTE_MS };
  }
  function windowUntil(minutes: number) {
    return { ...DAY, endMs: CHANGE + minutes * MINUTE_MS };
  }

  test.each([
    ['one row is of the earlier hour', '02:30', '-30', DAY],
    ['a row after a later time is of the later hour', '02:50 02:10 02:20', '-10 10 20', DAY],
    ['the second of equal times is, too', '02:30 02:30', '-30 30', DAY],
    ['in descending order likewise', '03:10 02:20 02:50 01:50', '70 20 -10 -70', DAY],
    ['a window that starts later has only the later hour', '02:30', '30', windowFrom(0)],
    [
      'a window that ends before it has only the earlier',
      '02:50 02:10',
      '-10 -50',
      windowUntil(-5),
    ],
    // By its edges, a window may have a row of the minute before it, or after.
    ['a row before a window is earlier', '02:30', '-30', windowFrom(-29)],
    ['one after it is later', '02:20 02:50 02:10', '-40 -10 10', windowUntil(9)],
    ['but not by more', '02:20 02:50 02:10', '-40 -10 -50', windowUntil(8)],
  ])('%s', (_, times, expected, window) => {
    const rows = rowsOf(times.split(' ').map((time) => `2026-10-25T${time}:00`));
    const startsMs = parseRows({ rows, window }, COPENHAGEN, 'local');
    const minutes = startsMs?.map((ms) => (ms - CHANGE) / MINUTE_MS);
    expect(minutes?.join(' ')).toBe(expected);
  });
});

/** All changes of clocks of all zones within two years, equal ones of several zones once. */
function changesOfClocks() {
  const changes = new Map<string, readonly [zone: string, atMs: number]>();
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
  return [...changes.values()];
}

test('minutes are parsed at every change of clocks, in both orders, with any keys', () => {
  const changes = changesOfClocks();
  expect(changes.length).toBeGreaterThan(30);
  const zones = createZones();
  const wrong: string[] = [];
  for (const [form, minuteKey] of Object.entries(MINUTE_KEYS)) {
    for (const [name, changeMs] of changes) {
      const conventions = { ...plainConventions, minuteKey };
      const buckets = createBuckets('minute', conventions, zones(name), zones('UTC'));
      const window = { startMs: changeMs - 100 * MINUTE_MS, endMs: changeMs + 100 * MINUTE_MS };
      const minutes = Array.from({ length: 200 }, (_, i) => window.startMs + i * MINUTE_MS);
      const keys = minutes.map((ms) => JSON.parse(buckets.key(buckets.bucketOf(ms), 0)) as Key);
      const [ascending, descending] = [keys, keys.toReversed()].map((inOrder) =>
        parseRows({ rows: rowsOf(inOrder), window }, new Zone(name), fittingKeyTimes(minuteKey)),
      );
      const both = [ascending, descending?.toReversed()];
      const isRight = both.every((found) => found?.join() === minutes.join());
      wrong.push(...(isRight ? [] : [`${form}: ${name} ${changeMs}`]));
    }
  }
  expect(wrong).toEqual([]);
});
