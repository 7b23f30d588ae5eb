/** Opening hours and holidays that are refused, and what would be right. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { HOLIDAY_REGIONS } from '../../src/counting/holiday-regions.ts';
import { holidaysProblem, parseOpeningHours } from '../../src/counting/opening-hours.ts';

test.each([
  [
    '',
    undefined,
    "is not in OpenStreetMap's syntax: write it as in Mo-Fr 08:00-20:00; Sa 10:00-16:00",
  ],
  [
    'Mo-Fr 25:00-30:00',
    undefined,
    "is not in OpenStreetMap's syntax at character 11: Time range starts outside of the current day",
  ],
  [
    'Mo-Fr 10:00',
    undefined,
    "is not in OpenStreetMap's syntax at character 11: hyphen (-) or open end (+) in time range expected",
  ],
  ['PH off', undefined, 'uses PH, but nothing says whose: set holidays, as in holidays: dk'],
  [
    'PH off',
    'gb',
    'uses PH, but gb has no holidays of its own: set holidays to one of gb-eng, gb-nir, gb-sct, gb-wls',
  ],
  ['SH off', 'de-by', 'uses school holidays (SH), known for some years only: write the days out'],
  ['10:00+', undefined, 'has an open end: write when it closes, as in 10:00-18:00'],
  [
    'sunrise-sunset',
    undefined,
    'depends on the sun, whose place is not configured: write times, as in 08:00',
  ],
  [
    '08:00-20:00 unknown',
    undefined,
    'says that it is unknown when it is open: write times, or leave the key out',
  ],
  ['Mo-Fr 8-20', undefined, 'can be read in more than one way: write it as Mo-Fr 08:00-20:00'],
  ['Montag 08:00-20:00', undefined, 'can be read in more than one way: write it as Mo 08:00-20:00'],
  ['Mo '.repeat(400), undefined, 'is longer than 1000 characters: write shorter rules'],
])('%j with holidays %s is refused', (text, holidays, message) => {
  expect(() => parseOpeningHours(text, holidays)).toThrow(new Error(message));
});

test('regions whose holidays are not known say which are', () => {
  expect(holidaysProblem('dk')).toBeUndefined();
  expect(holidaysProblem('de-by')).toBeUndefined();
  expect(holidaysProblem('dkk')).toMatch(
    /give one of ar, at, .*, za, or country-state as in de-by$/,
  );
  expect(holidaysProblem('constructor')).toContain('is not a country whose holidays are known');
  expect(holidaysProblem('dk-84')).toBe(
    'names a state, but the holidays of dk are known only as a whole: give dk',
  );
  expect(holidaysProblem('gb-xx')).toBe(
    'is not a state whose holidays are known: give gb, or one of gb-eng, gb-nir, gb-sct, gb-wls',
  );
});

test('the list of regions is that of the library', () => {
  const source = readFileSync(fileURLToPath(import.meta.resolve('opening_hours')), 'utf8');
  const codes = new Set(
    Array.from(source.matchAll(/_state_code: ?"([^"]+)"|"_state_code": "([^"]+)"/g), (match) =>
      (match[1] ?? match[2] ?? '').toLowerCase(),
    ),
  );
  const states = [...HOLIDAY_REGIONS.values()].flat();
  expect(new Set(states)).toEqual(codes);
  const letters = Array.from('abcdefghijklmnopqrstuvwxyz');
  const known = letters
    .flatMap((first) => letters.map((second) => first + second))
    .filter((country) =>
      new RegExp(`^const ${country}\\$?\\d* = \\{\\s*(PH|"_nom|"[A-Z])`, 'm').test(source),
    );
  expect(known.length).toBeGreaterThan(50);
  expect([...HOLIDAY_REGIONS.keys()].filter((country) => !known.includes(country))).toEqual([]);
});
