import { describe, expect, test } from 'vitest';
import type { Key } from '../../../src/base/model.ts';
import {
  allAgree,
  ANY_KEY_FORMAT,
  detectKeyFormat,
  KEY_FORMATS,
  matchingReadings,
  namesTimeOfDay,
  narrowKeyFormat,
  parseKey,
  readKeys,
} from '../../../src/counting/rows/key-format.ts';
import type {
  KeyFormat,
  KeyFormatState,
  KeySample,
} from '../../../src/counting/rows/key-format.ts';
import { WindowReader } from '../../../src/counting/rows/window-reader.ts';
import { queryFrom } from '../../support/responses.ts';
import type { Requested } from '../../support/responses.ts';
import { Zone } from '../../../src/counting/calendar/zone.ts';

const COPENHAGEN = new Zone('Europe/Copenhagen');
const LONDON = new Zone('Europe/London');
const NEW_YORK = new Zone('America/New_York');
/** 13:07 in Copenhagen on a winter's day. */
const MINUTE = Date.UTC(2026, 10, 18, 12, 7);
const WINDOW = { startMs: MINUTE - 7 * 60_000, endMs: MINUTE + 8 * 60_000 };

function sampleOf(window: KeySample['window'], ...keys: readonly Key[]): KeySample {
  return { rows: keys.map((key) => ({ key, counts: [1, 0] })), window };
}

/** An instant by its UTC time. */
function utc(time: string): number {
  return Date.parse(`${time}Z`);
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

  test('a key without an offset is not of a format that has one', () => {
    const format: KeyFormat = { form: 'iso', zone: 'written' };
    expect(parseKey(format, '2026-11-18 13:07', WINDOW, COPENHAGEN)).toBeUndefined();
  });

  /** Clocks are set back at 1:00 UTC: 2:30 is 0:30 UTC or 1:30. */
  test.each([
    ['02:30', '00:00', '02:00', '00:30'],
    ['02:30', '01:10', '01:40', '01:30'],
    ['02:30', '00:31', '02:00', '00:30'],
    ['02:30', '00:32', '02:00', '01:30'],
    ['02:30', '00:40', '00:50', '00:30'],
    ['02:30', '00:40', '01:00', '01:30'],
    ['02:30', '01:31', '02:00', '01:30'],
    ['02:30', '01:32', '02:00', '00:30'],
    ['01:50', '00:40', '02:00', '-00:10'],
    ['03:10', '03:00', '04:00', '02:10'],
  ])('when clocks are set back, %s is, from %s to %s UTC, %s', (key, from, to, expected) => {
    const window = { startMs: utc(`2026-10-25T${from}`), endMs: utc(`2026-10-25T${to}`) };
    const expectedMs =
      expected === '-00:10' ? utc('2026-10-24T23:50') : utc(`2026-10-25T${expected}`);
    const format: KeyFormat = { form: 'iso', zone: 'local' };
    expect(parseKey(format, `2026-10-25T${key}`, window, COPENHAGEN)).toBe(expectedMs);
  });

  test('west of Greenwich, too, a written offset says which of two hours it is', () => {
    const window = { startMs: utc('2026-11-01T04:00'), endMs: utc('2026-11-01T08:00') };
    const format: KeyFormat = { form: 'iso', zone: 'local' };
    const instants = ['-04:00', '-05:00'].map((offset) =>
      parseKey(format, `2026-11-01T01:30${offset}`, window, NEW_YORK),
    );
    expect(instants).toEqual([utc('2026-11-01T05:30'), utc('2026-11-01T06:30')]);
  });

  test.each([
    ['2027-11-19T12:00', '2027-11-19T11:00'],
    ['2027-11-19T12:01', '2027-11-19T12:01'],
    ['2027-11-19T12:01+05:00', '2027-11-19T07:01'],
  ])('a local time more than 366 days away is not of the zone: %s is %s UTC', (key, expected) => {
    const format: KeyFormat = { form: 'iso', zone: 'local' };
    expect(parseKey(format, key, WINDOW, COPENHAGEN)).toBe(utc(expected));
  });

  test.each([
    ['in the window', '13:05', '12:00', '12:15', '18T12:05'],
    ['a minute before a short one', '12:59', '12:00', '12:15', '18T11:59'],
    ['outside of a short one', '12:58', '12:00', '12:15', '19T11:58'],
    ['at the end of one of nearly a day', '12:59', '12:00', '35:59', '18T11:59'],
    ['at the end of one of a day', '12:59', '12:00', '36:00', '19T11:59'],
    ['twice in one of two days, for the first time', '14:00', '12:00', '60:00', '18T13:00'],
    ['at the start of one of two days', '13:00', '12:00', '60:00', '18T12:00'],
  ])('places a time of day %s', (_, key, from, to, expected) => {
    const midnightMs = utc('2026-11-18T00:00');
    const [startMs, endMs] = [from, to].map((time) => {
      const [hour, minute] = time.split(':').map(Number);
      return midnightMs + ((hour ?? NaN) * 60 + (minute ?? NaN)) * 60_000;
    }) as [number, number];
    const format: KeyFormat = { form: 'time_of_day', zone: 'local' };
    expect(parseKey(format, key, { startMs, endMs }, COPENHAGEN)).toBe(utc(`2026-11-${expected}`));
  });

  test('places a time of day in the local day west of Greenwich', () => {
    const window = { startMs: utc('2026-11-19T01:00'), endMs: utc('2026-11-19T01:15') };
    const format: KeyFormat = { form: 'time_of_day', zone: 'local' };
    expect(parseKey(format, '20:10', window, NEW_YORK)).toBe(utc('2026-11-19T01:10'));
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

  test.each([
    ['11:58', false],
    ['11:59', true],
    ['12:16', true],
    ['12:17', false],
  ])('a key may be a minute beside its window from 12:00 to 12:15: %s fits: %s', (time, fits) => {
    const formats = formatsOf(sampleOf(WINDOW, `2026-11-18T${time}:00Z`));
    expect(formats.some(({ zone }) => zone === 'written')).toBe(fits);
  });

  test('fits although half of the rows are late or have a wrong clock', () => {
    const keys = ['2026-11-18T12:07:00Z', '2026-11-18T12:08:00Z', '2026-12-24T12:07:00Z'];
    const fitting = formatsOf(sampleOf(WINDOW, ...keys));
    expect(fitting).toContainEqual({ form: 'iso', zone: 'written' });
    expect(fitting).not.toContainEqual({ form: 'iso', zone: 'local' });
    expect(formatsOf(sampleOf(WINDOW, ...keys, 'Main Library'))).toEqual([]);
  });
});

describe('a detected format', () => {
  const ISO: KeyFormatState = { status: 'detected', formats: [{ form: 'iso', zone: 'written' }] };

  test('is narrowed by rows only', () => {
    expect(narrowKeyFormat(ANY_KEY_FORMAT, sampleOf(WINDOW), COPENHAGEN)).toBe(ANY_KEY_FORMAT);
  });

  test('is replaced if keys do not fit it any more', () => {
    expect(narrowKeyFormat(ISO, sampleOf(WINDOW, 202611181307), COPENHAGEN)).toEqual({
      status: 'detected',
      formats: [{ form: 'compact', zone: 'local' }],
    });
    expect(narrowKeyFormat(ISO, sampleOf(WINDOW, 'x'), COPENHAGEN).status).toBe('unknown');
  });

  test.each<[KeyFormatState['status'], KeyFormat['form'], boolean]>([
    ['detected', 'time_of_day', true],
    ['detected', 'minute_of_day', true],
    ['detected', 'iso', false],
    ['ambiguous', 'time_of_day', false],
  ])('has no date: %s %s: %s', (status, form, expected) => {
    expect(namesTimeOfDay({ status, formats: [{ form, zone: 'utc' }] })).toBe(expected);
  });
});

describe('an ambiguous format', () => {
  const DAY = { startMs: utc('2026-11-18T03:00'), endMs: utc('2026-11-18T22:00') };

  /** Detects from a day, with responses to windows by their start in UTC; others are empty. */
  async function detect(
    samples: readonly KeySample[],
    responses: Readonly<Record<string, readonly string[]>>,
    zone = COPENHAGEN,
  ) {
    const requests: Requested[] = [];
    const query = queryFrom(({ from }) => {
      const keys = responses[new Date(from).toISOString().slice(11, 16)] ?? [];
      return { aggregation: 'minute', rows: sampleOf(DAY, ...keys).rows };
    }, requests);
    const reader = new WindowReader({ query, stream: 'people', zone, nowMs: () => NaN });
    const { status, formats } = await detectKeyFormat(reader, ANY_KEY_FORMAT, samples, zone);
    const starts = requests.map(({ from }) => new Date(from).toISOString().slice(5, 16));
    return { status, zones: formats.map((format) => format.zone), starts };
  }
  const AMBIGUOUS = sampleOf(DAY, '2026-11-18T10:00', '2026-11-18T12:00');

  test('is detected by a short window around an instant that one of them gives', async () => {
    const responses = { '10:55': ['2026-11-18T12:00'] };
    expect(await detect([AMBIGUOUS], responses)).toEqual({
      status: 'detected',
      zones: ['local'],
      starts: ['11-18T10:55'],
    });
  });

  test('is detected by the next one if the first shows nothing, or both formats', async () => {
    for (const first of [[], ['2026-11-18T11:00', '2026-11-18T12:00']]) {
      const responses = { '10:55': first, '11:55': ['2026-11-18T12:00'] };
      expect(await detect([AMBIGUOUS, sampleOf(DAY)], responses)).toEqual({
        status: 'detected',
        zones: ['utc'],
        starts: ['11-18T10:55', '11-18T11:55'],
      });
    }
  });

  test('needs no request once it is detected', async () => {
    const certain = sampleOf(WINDOW, '2026-11-18T13:07');
    expect(await detect([certain], {})).toEqual({
      status: 'detected',
      zones: ['local'],
      starts: [],
    });
  });

  test('stays so without a row that has counts', async () => {
    const rows = AMBIGUOUS.rows.map(({ key }) => ({ key, counts: [0, 0] }));
    expect(await detect([{ rows, window: DAY }], {})).toMatchObject({
      status: 'ambiguous',
      starts: [],
    });
    const [older] = AMBIGUOUS.rows;
    const oneCounts = { rows: [...(older ? [older] : []), ...rows.slice(1)], window: DAY };
    expect((await detect([oneCounts], {})).starts).toEqual(['11-18T08:55', '11-18T09:55']);
  });

  test('is shown by the newest row of summer, if all formats are the same in winter', async () => {
    const window = { startMs: utc('2026-10-20T00:00'), endMs: utc('2026-11-18T22:00') };
    const sample = sampleOf(window, '2026-10-20T12:00', '2026-11-18T12:00');
    expect((await detect([sample], {}, LONDON)).starts).toEqual(['10-20T10:55', '10-20T11:55']);
  });
});
