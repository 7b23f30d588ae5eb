/** When a library is open: local time, public holidays, changes of the clocks. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import { createOpeningHoursParser, parseOpeningHours } from '../../src/counting/opening-hours.ts';
import type { OpeningHours } from '../../src/counting/opening-hours.ts';
import { underWallDate } from '../../src/counting/wall-date.ts';

const LIBRARY_HOURS = 'Mo-Fr 08:00-20:00; Sa 10:00-16:00; PH off';
const COPENHAGEN = 'Europe/Copenhagen';

function at(iso: string): number {
  return new Date(iso).getTime();
}

/** Every change between two instants, found by asking from one answer to the next. */
function changes(hours: OpeningHours, zone: string, from: string, to: string): string[] {
  const found: string[] = [];
  let open = hours.isOpenAt(at(from), zone);
  for (let next = hours.nextChangeAfter(at(from), zone); next !== undefined && next < at(to);) {
    expect(hours.isOpenAt(next - 1, zone)).toBe(open);
    if (hours.isOpenAt(next, zone) !== open) {
      open = !open;
      found.push(`${new Date(next).toISOString().slice(0, 16)}Z ${open ? 'opens' : 'closes'}`);
    }
    next = hours.nextChangeAfter(next, zone);
  }
  return found;
}

test('a week of a library, with its public holidays, in local time', () => {
  const hours = parseOpeningHours(LIBRARY_HOURS, 'dk');
  // 2026-04-02 and 03 are Maundy Thursday and Good Friday, 04-06 is Easter Monday.
  expect(changes(hours, COPENHAGEN, '2026-04-01T00:00Z', '2026-04-08T00:00Z')).toEqual([
    '2026-04-01T06:00Z opens',
    '2026-04-01T18:00Z closes',
    '2026-04-04T08:00Z opens',
    '2026-04-04T14:00Z closes',
    '2026-04-07T06:00Z opens',
    '2026-04-07T18:00Z closes',
  ]);
});

test('holidays are those of the country and state', () => {
  const bavarian = parseOpeningHours(LIBRARY_HOURS, 'de-by');
  const german = parseOpeningHours(LIBRARY_HOURS, 'de');
  const epiphany = at('2026-01-06T12:00Z');
  expect(bavarian.isOpenAt(epiphany, 'Europe/Berlin')).toBe(false);
  expect(german.isOpenAt(epiphany, 'Europe/Berlin')).toBe(true);
});

test('an opening is later in UTC from the day on which clocks are set back', () => {
  const hours = parseOpeningHours('Mo-Su 08:00-20:00', undefined);
  expect(changes(hours, COPENHAGEN, '2026-10-24T00:00Z', '2026-10-26T00:00Z')).toEqual([
    '2026-10-24T06:00Z opens',
    '2026-10-24T18:00Z closes',
    '2026-10-25T07:00Z opens',
    '2026-10-25T19:00Z closes',
  ]);
});

test('an hour that is left out is not open, and one that occurs twice is open twice', () => {
  const hours = parseOpeningHours('02:15-02:45', undefined);
  expect(changes(hours, COPENHAGEN, '2026-03-28T00:00Z', '2026-03-30T00:00Z')).toEqual([
    '2026-03-28T01:15Z opens',
    '2026-03-28T01:45Z closes',
  ]);
  expect(changes(hours, COPENHAGEN, '2026-10-25T00:00Z', '2026-10-25T12:00Z')).toEqual([
    '2026-10-25T00:15Z opens',
    '2026-10-25T00:45Z closes',
    '2026-10-25T01:15Z opens',
    '2026-10-25T01:45Z closes',
  ]);
});

test('where clocks are set in the middle of the opening hours, it stays open', () => {
  const hours = parseOpeningHours('22:00-04:00', undefined);
  expect(changes(hours, COPENHAGEN, '2026-03-28T20:00Z', '2026-03-29T12:00Z')).toEqual([
    '2026-03-28T21:00Z opens',
    '2026-03-29T02:00Z closes',
  ]);
  const late = parseOpeningHours('02:30-12:00', undefined);
  expect(changes(late, COPENHAGEN, '2026-03-28T20:00Z', '2026-03-29T12:00Z')).toEqual([
    '2026-03-29T01:00Z opens',
    '2026-03-29T10:00Z closes',
  ]);
});

test('midnight that does not exist, and zones far from UTC', () => {
  const hours = parseOpeningHours('00:00-01:30', undefined);
  // In Cairo clocks go from 00:00 to 01:00 on 2026-04-24.
  expect(changes(hours, 'Africa/Cairo', '2026-04-23T12:00Z', '2026-04-25T12:00Z')).toEqual([
    '2026-04-23T22:00Z opens',
    '2026-04-23T22:30Z closes',
    '2026-04-24T21:00Z opens',
    '2026-04-24T22:30Z closes',
  ]);
  const noon = parseOpeningHours('Mo 12:00-13:00', undefined);
  expect(changes(noon, 'Pacific/Kiritimati', '2026-01-04T00:00Z', '2026-01-06T00:00Z')).toEqual([
    '2026-01-04T22:00Z opens',
    '2026-01-04T23:00Z closes',
  ]);
});

test('what never changes has no next change', () => {
  const always = parseOpeningHours('24/7', undefined);
  const never = parseOpeningHours('off', undefined);
  for (const now of [at('2026-03-29T00:30Z'), at('2035-01-01T00:00Z')]) {
    expect(always.isOpenAt(now, COPENHAGEN)).toBe(true);
    expect(never.isOpenAt(now, COPENHAGEN)).toBe(false);
    expect(always.nextChangeAfter(now, COPENHAGEN)).toBeUndefined();
    expect(never.nextChangeAfter(now, COPENHAGEN)).toBeUndefined();
  }
});

test('a change months away is found, and time may step back', () => {
  const hours = parseOpeningHours('Jun-Aug off; Mo-Su 00:00-24:00; Jun-Aug off', undefined);
  const winter = at('2026-01-01T00:00Z');
  expect(new Date(hours.nextChangeAfter(winter, 'UTC') ?? 0).toISOString()).toBe(
    '2026-06-01T00:00:00.000Z',
  );
  expect(hours.isOpenAt(at('2026-07-01T00:00Z'), 'UTC')).toBe(false);
  expect(hours.isOpenAt(winter, 'UTC')).toBe(true);
});

test('one text answers for several zones', () => {
  const hours = parseOpeningHours('08:00-20:00', undefined);
  const noon = at('2026-01-15T12:00Z');
  expect(hours.isOpenAt(noon, COPENHAGEN)).toBe(true);
  expect(hours.isOpenAt(noon, 'Asia/Tokyo')).toBe(false);
  expect(hours.isOpenAt(noon, COPENHAGEN)).toBe(true);
});

test('the weeks in which the library loses its way are right', () => {
  // New Year's Day of 2028 is a Saturday, so that it is observed in the year before.
  const hours = parseOpeningHours('open; PH off', 'us');
  expect(changes(hours, 'UTC', '2028-11-20T00:00Z', '2029-01-03T00:00Z')).toEqual([
    '2028-11-23T00:00Z closes',
    '2028-11-24T00:00Z opens',
    '2028-12-25T00:00Z closes',
    '2028-12-26T00:00Z opens',
    '2029-01-01T00:00Z closes',
    '2029-01-02T00:00Z opens',
  ]);
});

test.each(['UTC', 'Europe/Copenhagen', 'America/New_York', 'Africa/Cairo', 'Pacific/Apia'])(
  'the zone of the process, here %s, is no matter on its own DST days either',
  (TZ) => {
    const module = fileURLToPath(new URL('../../src/counting/opening-hours.ts', import.meta.url));
    const script = `
      import { parseOpeningHours } from ${JSON.stringify(module)};
      const answers = [];
      for (const zone of ['Europe/Copenhagen', 'America/New_York', 'UTC', 'Africa/Cairo']) {
        for (const text of ['00:10-00:50; 01:50-02:10; 02:20-02:40; 03:30-24:00', ${JSON.stringify(LIBRARY_HOURS)}]) {
          const hours = parseOpeningHours(text, 'dk');
          for (const day of ['2026-03-08', '2026-03-29', '2026-04-24', '2026-10-25', '2026-10-30', '2026-11-01']) {
            const from = Date.parse(day) - 12 * 3600e3;
            let open = '';
            for (let t = from; t < from + 48 * 3600e3; t += 10 * 60e3) open += hours.isOpenAt(t, zone) ? '1' : '0';
            const changes = [];
            for (let t = from; t < from + 48 * 3600e3; ) { t = hours.nextChangeAfter(t, zone); changes.push(t - from); }
            answers.push([zone, day, open, changes.join()].join(' '));
          }
        }
      }
      console.log(process.env.TZ, new Date(Date.UTC(2026, 6)).getHours());
      console.log(answers.join('\\n'));`;
    function run(zone: string): string[] {
      return execFileSync(process.execPath, ['--input-type=module-typescript', '-e', script], {
        env: { TZ: zone },
        encoding: 'utf8',
      }).split('\n');
    }
    const [zone, ...answers] = run(TZ);
    const [, ...expected] = run('Asia/Tokyo');
    expect(zone).toMatch(new RegExp(`^${TZ} \\d+$`));
    expect(answers).toEqual(expected);
    expect(answers).toHaveLength(49);
  },
  60_000,
);

test('the console stays silent, and Date is what it was, whatever happens', () => {
  const error = vi.spyOn(console, 'error');
  const warn = vi.spyOn(console, 'warn');
  const before = globalThis.Date;
  expect(() => parseOpeningHours('PH off', 'gb')).toThrow('uses PH');
  expect(() =>
    underWallDate(() => {
      throw new Error('thrown under the wall date');
    }),
  ).toThrow('thrown under the wall date');
  expect(globalThis.Date).toBe(before);
  expect(error).not.toHaveBeenCalled();
  expect(warn).not.toHaveBeenCalled();
  vi.restoreAllMocks();
});

test('the same hours are parsed once', () => {
  const parse = createOpeningHoursParser();
  expect(parse(LIBRARY_HOURS, 'dk')).toBe(parse(LIBRARY_HOURS, 'dk'));
  expect(parse(LIBRARY_HOURS, 'dk')).not.toBe(parse(LIBRARY_HOURS, 'no'));
});
