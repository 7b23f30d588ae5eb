import { describe, expect, test } from 'vitest';
import type { Key } from '../../../src/base/model.ts';
import {
  allAgree,
  KEY_FORMATS,
  matchingReadings,
  parseKey,
  readKeys,
} from '../../../src/counting/rows/key-format.ts';
import type { KeyFormat, KeySample } from '../../../src/counting/rows/key-format.ts';
import { Zone } from '../../../src/counting/calendar/zone.ts';

const COPENHAGEN = new Zone('Europe/Copenhagen');
const LONDON = new Zone('Europe/London');
/** 13:07 in Copenhagen on a winter's day. */
const MINUTE = Date.UTC(2026, 10, 18, 12, 7);
const WINDOW = { startMs: MINUTE - 7 * 60_000, endMs: MINUTE + 8 * 60_000 };

function sampleOf(window: KeySample['window'], ...keys: readonly Key[]): KeySample {
  return { rows: keys.map((key) => ({ key, counts: [1, 0] })), window };
}

function formatsOf(sample: KeySample, zone = COPENHAGEN): readonly KeyFormat[] {
  return matchingReadings(KEY_FORMATS, sample, zone).map(({ format }) => format);
}

describe('parseKey', () => {
  test.each<[Key, KeyFormat['form'], KeyFormat['zone']]>([
    ['2026-11-18T12:07:00Z', 'iso', 'written'],
    ['2026-11-18T12:07:00.000Z', 'iso', 'written'],
    ['2026-11-18T13:07:00+01:00', 'iso', 'written'],
    ['2026-11-18T13:07+0100', 'iso', 'written'],
    ['2026/11/18T14:37:59.999 +02:30', 'iso', 'written'],
    ['2026-11-18T1207z', 'iso', 'written'],
    ['2026-11-18 13:07', 'iso', 'local'],
    ['2026-11-18T13:07:00', 'iso', 'local'],
    ['2026-11-18T13:07:00Z', 'iso', 'local'],
    ['2026-11-18T12:07:00', 'iso', 'utc'],
    [202611181307, 'compact', 'local'],
    ['20261118T130759', 'compact', 'local'],
    ['202611181207', 'compact', 'utc'],
    [MINUTE, 'epoch_milliseconds', 'written'],
    [MINUTE / 1000, 'epoch_seconds', 'written'],
    [String(MINUTE / 1000), 'epoch_seconds', 'written'],
    ['13:07', 'time_of_day', 'local'],
    ['13:07:00', 'time_of_day', 'local'],
    ['12:07', 'time_of_day', 'utc'],
    [13 * 60 + 7, 'minute_of_day', 'local'],
    ['727', 'minute_of_day', 'utc'],
  ])('parses %j as %s, %s, and no other format fits', (key, form, zone) => {
    expect(parseKey({ form, zone }, key, WINDOW, COPENHAGEN)).toBe(MINUTE);
    const sample = sampleOf(WINDOW, key);
    expect(formatsOf(sample)).toContainEqual({ form, zone });
    expect(allAgree(matchingReadings(KEY_FORMATS, sample, COPENHAGEN))).toBe(true);
  });

  test.each<Key>([
    '',
    'Main Library',
    '2026-13-40T99:99',
    '2026-02-29T15:03:00',
    '2026-11-18T13:07:00+1:00',
    '2026-11-18',
    '202613181307',
    '25:01',
    '13:61',
    -1,
    1.5,
    '0x10',
    '1e9',
  ])('no format fits %j', (key) => {
    expect(formatsOf(sampleOf(WINDOW, key))).toEqual([]);
  });

  test.each<[Key, KeyFormat['form']]>([
    ['2025-23-18T12:07Z', 'iso'],
    ['2026-10-49T12:07Z', 'iso'],
    ['2026-11-17T36:07Z', 'iso'],
    ['2026-11-18T11:67Z', 'iso'],
    ['0026-11-18T12:07Z', 'iso'],
    [202611181167, 'compact'],
    ['11:67', 'time_of_day'],
    [24 * 60, 'minute_of_day'],
  ])('does not take %j for the instant that it would overflow to', (key, form) => {
    const zone = form === 'iso' ? 'written' : 'utc';
    const wholeDay = { startMs: WINDOW.endMs - 86_400_000, endMs: WINDOW.endMs };
    expect(parseKey({ form, zone }, key, wholeDay, COPENHAGEN)).toBeUndefined();
  });

  test('with a written offset that the zone has, the hour that occurs twice is certain', () => {
    const window = { startMs: Date.UTC(2026, 9, 25), endMs: Date.UTC(2026, 9, 25, 2) };
    const local: KeyFormat = { form: 'iso', zone: 'local' };
    const instants = ['+02:00', '+01:00', '-05:00', 'Z', ''].map((offset) =>
      parseKey(local, `2026-10-25T02:30${offset}`, window, COPENHAGEN),
    );
    const [first, second] = [Date.UTC(2026, 9, 25, 0, 30), Date.UTC(2026, 9, 25, 1, 30)];
    expect(instants).toEqual([first, second, first, first, first]);
  });

  test('places a time of day after midnight in a window that starts before it', () => {
    const startMs = Date.UTC(2026, 10, 18, 22, 50);
    const window = { startMs, endMs: startMs + 20 * 60_000 };
    const format: KeyFormat = { form: 'time_of_day', zone: 'local' };
    expect(parseKey(format, '23:55', window, COPENHAGEN)).toBe(Date.UTC(2026, 10, 18, 22, 55));
    expect(parseKey(format, '00:05', window, COPENHAGEN)).toBe(Date.UTC(2026, 10, 18, 23, 5));
  });

  test('places the last minute of a whole day in it, not the minute before it', () => {
    const startMs = Date.UTC(2026, 10, 18, 3);
    const window = { startMs, endMs: startMs + 24 * 3_600_000 };
    const format: KeyFormat = { form: 'time_of_day', zone: 'local' };
    expect(parseKey(format, '03:59', window, COPENHAGEN)).toBe(window.endMs - 60_000);
  });

  test('several formats agree at offset 0, and not in summer', () => {
    const fitting = formatsOf(sampleOf(WINDOW, '2026-11-18T12:07:00'), LONDON);
    expect(fitting).toEqual([
      { form: 'iso', zone: 'local' },
      { form: 'iso', zone: 'utc' },
    ]);
    const summer = { startMs: Date.UTC(2026, 6, 18), endMs: Date.UTC(2026, 6, 19) };
    const sample = sampleOf(summer, '2026-07-18T12:07:00');
    expect(allAgree(readKeys(fitting, sample, LONDON))).toBe(false);
  });

  test('fits although half of the rows are late or have a wrong clock', () => {
    const keys = ['2026-11-18T12:07:00Z', '2026-11-18T12:08:00Z', '2026-12-24T12:07:00Z'];
    const fitting = formatsOf(sampleOf(WINDOW, ...keys));
    expect(fitting).toContainEqual({ form: 'iso', zone: 'written' });
    expect(fitting).not.toContainEqual({ form: 'iso', zone: 'local' });
    expect(formatsOf(sampleOf(WINDOW, ...keys, 'Main Library'))).toEqual([]);
  });
});
