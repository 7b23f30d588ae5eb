import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import type Library from 'opening_hours';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  createOpeningHoursParser,
  HOLIDAY_REGIONS,
  OpeningHours,
  parseOpeningHours,
} from '../../../src/counting/calendar/opening-hours.ts';

const LIBRARY_HOURS = 'Mo-Fr 08:00-20:00; Sa 10:00-16:00; PH off';
const COPENHAGEN = 'Europe/Copenhagen';

interface Hours {
  readonly text: string;
  readonly holidays?: string;
  readonly zone: string;
}

/** The time zone of the process has no influence. */
beforeAll(() => void vi.stubEnv('TZ', 'Africa/Cairo'));
afterAll(() => void vi.unstubAllEnvs());

/** Every opening and closing between two instants, found by following nextChangeAfter. */
function changes({ text, holidays, zone }: Hours, from: string, to: string): string {
  const hours = parseOpeningHours(text, holidays);
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  const found: string[] = [];
  let open = hours.isOpenAt(fromMs, zone);
  for (let next = hours.nextChangeAfter(fromMs, zone); next < toMs;) {
    expect(hours.isOpenAt(next - 1, zone)).toBe(open);
    if (hours.isOpenAt(next, zone) !== open) {
      open = !open;
      found.push(`${open ? 'opens' : 'closes'} ${new Date(next).toISOString().slice(8, 16)}`);
    }
    next = hours.nextChangeAfter(next, zone);
  }
  return found.join(', ');
}

const AT_NIGHT = { text: '02:15-02:45', zone: COPENHAGEN };

describe('opening hours', () => {
  test.each<[string, Hours, string, string, string]>([
    [
      // 2 and 3 April 2026 are Maundy Thursday and Good Friday, 6 April is Easter Monday.
      'are in local time and know public holidays',
      { text: LIBRARY_HOURS, holidays: 'dk', zone: COPENHAGEN },
      '2026-04-01',
      '2026-04-08',
      'opens 01T06:00, closes 01T18:00, opens 04T08:00, closes 04T14:00, opens 07T06:00, closes 07T18:00',
    ],
    [
      // Ascension Day is 14 May 2026.
      'add a holiday, and open on one',
      {
        text: '10:00-18:00; PH off; May 13 off; 2026 May 14 12:00-16:00',
        holidays: 'lu',
        zone: 'UTC',
      },
      '2026-05-12T12:00Z',
      '2026-05-15',
      'closes 12T18:00, opens 14T12:00, closes 14T16:00',
    ],
    ['in a skipped hour do not occur', AT_NIGHT, '2026-03-28T12:00Z', '2026-03-30', ''],
    [
      'in a repeated hour occur twice',
      AT_NIGHT,
      '2026-10-25',
      '2026-10-25T12:00Z',
      'opens 25T00:15, closes 25T00:45, opens 25T01:15, closes 25T01:45',
    ],
    [
      'work where midnight is skipped',
      { text: '00:00-01:30', zone: 'Africa/Cairo' },
      '2026-04-23T12:00Z',
      '2026-04-25T12:00Z',
      'opens 23T22:00, closes 23T22:30, opens 24T21:00, closes 24T22:30',
    ],
    [
      // The iterator of the opening_hours library fails on 2028-12-31.
      'are right on a day on which the iterator fails',
      { text: 'open; PH off', holidays: 'us', zone: 'UTC' },
      '2028-12-20',
      '2029-01-03',
      'closes 25T00:00, opens 26T00:00, closes 01T00:00, opens 02T00:00',
    ],
    [
      'are local then, too',
      { text: '18:00-22:00; PH off', holidays: 'us', zone: 'America/New_York' },
      '2028-12-30T12:00Z',
      '2029-01-02T12:00Z',
      'opens 30T23:00, closes 31T03:00, opens 31T23:00, closes 01T03:00',
    ],
  ])('%s', (_, hours, from, to, expected) => {
    expect(changes(hours, from, to)).toBe(expected);
  });

  test('that never change stay as they are for a week at least', () => {
    const hours = parseOpeningHours('24/7', undefined);
    const startMs = Date.parse('2026-01-15');
    const weekMs = 7 * 86_400_000;
    expect(hours.nextChangeAfter(startMs, 'UTC')).toBe(startMs + weekMs);
    const span = { startMs, endMs: startMs + 60 * weekMs };
    expect(hours.openSpans(span, 'UTC')).toEqual([span]);
  });

  test('go on after a day on which the iterator fails', () => {
    const span = { startMs: Date.parse('2028-12-31'), endMs: Date.parse('2029-01-02') };
    const hours = parseOpeningHours('open; PH off; Jan 01 00:00-24:00', 'us');
    expect(hours.openSpans(span, 'UTC')).toEqual([span]);
  });

  test('of a local day are evaluated once, for whatever site, zone and question', () => {
    const getOpenIntervals = vi.fn<Library['getOpenIntervals']>((from) => [
      [from, from, false, undefined],
    ]);
    const hours = new OpeningHours(
      Object.assign(Object.create(null), { getOpenIntervals }) as Library,
    );
    const day = { startMs: Date.parse('2026-01-15'), endMs: Date.parse('2026-01-16') };
    for (const zone of ['UTC', 'UTC', 'Africa/Abidjan']) {
      hours.openSpans(day, zone);
      hours.isOpenAt(day.startMs, zone);
      hours.isOpenAt(day.endMs - 1, zone);
    }
    expect(getOpenIntervals.mock.calls.map(([from]) => from.getTime())).toEqual([day.startMs]);
  });

  test('use the holidays of the state', () => {
    const epiphany = Date.UTC(2026, 0, 6, 12);
    const [bavaria, germany] = ['de-by', 'de'].map((region) =>
      parseOpeningHours(LIBRARY_HOURS, region).isOpenAt(epiphany, 'Europe/Berlin'),
    );
    expect([bavaria, germany]).toEqual([false, true]);
  });

  test('are parsed once for all customers with the same text', () => {
    const parse = createOpeningHoursParser();
    expect(parse(LIBRARY_HOURS, 'dk')).toBe(parse(LIBRARY_HOURS, 'dk'));
    expect(parse(LIBRARY_HOURS, 'dk')).not.toBe(parse(LIBRARY_HOURS, 'no'));
  });
});

test('Date and the console are unchanged after a mistake', () => {
  const before = globalThis.Date;
  expect(new Date(0).getHours()).toBe(2);
  const error = vi.spyOn(console, 'error');
  const warn = vi.spyOn(console, 'warn');
  expect(() => parseOpeningHours('PH off', 'gb')).toThrow('no public holidays');
  expect(globalThis.Date).toBe(before);
  expect(console).toMatchObject({ error, warn });
  expect(error).not.toHaveBeenCalled();
  expect(warn).not.toHaveBeenCalled();
  vi.restoreAllMocks();
});

const INVALID = "invalid syntax: expected OpenStreetMap's, as in Mo-Fr 08:00-20:00; Sa 10:00-16:00";

test.each<[string, string, ...(string | undefined)[]]>([
  ['', INVALID],
  ['08:00-20:00.', INVALID],
  [
    'Mo-Fr 25:00-30:00',
    'invalid syntax at character 11: Time range starts outside of the current day',
  ],
  [
    // In 2035: Easter is on 25 March.
    '08:00-20:00; easter -85 days off',
    'invalid syntax at character 29: The movable day easter plus -85 days is not in the year of the movable day anymore',
  ],
  ['PH off', 'PH needs the key holidays, as in holidays: dk', undefined],
  [
    'PH off',
    'gb has no public holidays of its own: set holidays to one of gb-eng, gb-nir, gb-sct, gb-wls',
    'gb',
  ],
  ['SH off', 'school holidays (SH) are not supported: write the dates'],
  ['"a" 10:00+ "b"', 'open ends are not supported: write the closing time, as in 10:00-18:00'],
  [
    'sunrise-sunset',
    'sunrise, sunset, dawn and dusk are not supported: write times, as in 08:00-20:00',
  ],
  ['08:00-20:00 unknown', '"unknown" is not supported: write times, or remove this key'],
  ['Mo-Fr 8-20', 'ambiguous: write it as Mo-Fr 08:00-20:00'],
  [
    '24/7; PH off',
    'ambiguous: You used 24/7 in a way that is probably not interpreted as "24 hours 7 days a week"',
  ],
  [
    'Mo-Fr 10-18 Sa 10-14 PH off',
    'write ; between rules, as in Mo-Fr 10:00-18:00; Sa 10:00-14:00; PH off. Without it, this means Mo-Fr,Sa PH 10:00-18:00,10:00-14:00 off',
  ],
  [
    'Mo-Fr 10:00-18:00 PH off',
    'write ; between rules, as in Mo-Fr 10:00-18:00; PH off. Without it, this means PH Mo-Fr 10:00-18:00 off',
  ],
  ['Mo-Fr 08:00-12:00 13:00-17:00', 'ambiguous: write it as Mo-Fr 08:00-12:00,13:00-17:00'],
  ['Mo '.repeat(400), 'expected at most 1000 characters, got 1200'],
])('a mistake in %j is explained: %s', (text, message, ...holidays) => {
  const [region] = holidays.length > 0 ? holidays : ['dk'];
  expect(() => parseOpeningHours(text, region)).toThrow(new Error(message));
});

test.each([
  '08:00-20:00 "self-service"',
  '08:00-20:00 open "self-service"',
  '08:00-20:00 "unknown, SH at sunset, 10:00+"; Su off "closed"',
  '"in winter"  : 08:00-20:00',
  `"${'o'.repeat(986)}" 08:00-20:00`,
])('%j is open from 8 to 20: comments are ignored', (text) => {
  const hours = parseOpeningHours(text, undefined);
  const midnight = Date.UTC(2026, 0, 15);
  const open = [7, 8, 19, 20].map((hour) => hours.isOpenAt(midnight + hour * 3_600_000, 'UTC'));
  expect(open).toEqual([false, true, true, false]);
});

test.each([
  'Mo-Fr, Sa 10:00-18:00',
  'Mo-Fr 10:00-18:00,Sa 10:00-14:00',
  '2026-2027 week 01-10/2 Mo-Fr 10:00-12:00',
  'Mo[1,-1] 10:00-12:00',
  '08:00-12:00,13:00-17:00 Mo-Fr',
  'Mo-Fr Jun-Aug 10:00-16:00',
])('%j has its separators', (text) => {
  expect(parseOpeningHours(text, 'dk')).toBeInstanceOf(OpeningHours);
});

const WORDS =
  'Mo|Mo-Fr|Sa,Su|PH|PH +1 day|Jan|Feb 29|Dec 25-Jan 06|2026|2026-2027|2040|week 01-53/2|Mo[-1]|Mo[1] +1 day|' +
  'easter|easter +1 day|easter -2 days|easter -90 days|2026 easter|24/7|08:00-20:00|22:00-02:00|off|open|;|,|"x"|||';

test('any words are hours that say when they are open at any instant, or an error', () => {
  const words = fc.array(fc.constantFrom(...WORDS.split('|')), { minLength: 1, maxLength: 4 });
  const instants = fc.array(
    fc.date({ min: new Date('2020'), max: new Date('2050'), noInvalidDate: true }),
  );
  let valid = 0;
  fc.assert(
    fc.property(words, instants, (text, dates) => {
      let hours: OpeningHours;
      try {
        hours = parseOpeningHours(text.join(' '), 'us');
      } catch {
        return;
      }
      valid += 1;
      for (const atMs of dates.map(Number)) {
        expect(hours.isOpenAt(atMs, COPENHAGEN)).toBeTypeOf('boolean');
        expect(hours.nextChangeAfter(atMs, COPENHAGEN)).toBeGreaterThan(atMs);
      }
    }),
    { seed: 46, numRuns: 40 },
  );
  expect(valid).toBeGreaterThan(5);
});

test('the list of holiday regions is that of the opening_hours library', () => {
  const source = readFileSync(fileURLToPath(import.meta.resolve('opening_hours')), 'utf8');
  const states = Array.from(
    source.matchAll(/_state_code: ?"([^"]+)"|"_state_code": "([^"]+)"/g),
    (match) => (match[1] ?? match[2] ?? '').toLowerCase(),
  );
  expect(new Set([...HOLIDAY_REGIONS.values()].flat())).toEqual(new Set(states));
  const missing = [...HOLIDAY_REGIONS.keys()].filter(
    (country) =>
      !new RegExp(`^const ${country}\\$?\\d* = \\{\\s*(PH|"_nom|"[A-Z])`, 'm').test(source),
  );
  expect(missing).toEqual([]);
  expect(HOLIDAY_REGIONS.size).toBeGreaterThan(50);
});
