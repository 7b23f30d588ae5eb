import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readIso } from '../../src/counting/wall-time.ts';

const two = fc.integer({ min: 0, max: 99 }).map((number) => String(number).padStart(2, '0'));
const designator = fc.oneof(
  fc.constantFrom('', 'Z', 'z', '+01:00', '-09:30', '+0100', '+01', '+1:00', ' +01:00'),
  fc.tuple(fc.constantFrom('+', '-'), two, two).map(([sign, h, m]) => `${sign}${h}:${m}`),
);
/** What Date says of a text with its designator replaced: another reader, by another hand. */
function wallOf(year: string, text: string): number {
  return Date.parse(`${year}${text}Z`);
}

test('every usual date is read as Date reads it, and none that Date does not know', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 100, max: 9_999 }).map((year) => String(year).padStart(4, '0')),
      fc.tuple(two, two, two, two, fc.integer({ min: 0, max: 59 })),
      designator,
      (year, [month, day, hour, minute, second], written) => {
        const rest = `-${month}-${day}T${hour}:${minute}`;
        const seconds = String(second).padStart(2, '0');
        const read = readIso(`${year}${rest}:${seconds}${written}`);
        const days = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
        const exists = Number(hour) < 24 && Number(day) <= days;
        const ms = exists ? wallOf(year, rest) : Number.NaN;
        expect(read?.ms ?? Number.NaN).toBe(/^[+-]\d:/.test(written) ? Number.NaN : ms);
      },
    ),
    { numRuns: 2_000 },
  );
});

test('the same instant has one reading, whether the usual way or the long way reads it', () => {
  fc.assert(
    fc.property(
      fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') }),
      designator,
      (date, written) => {
        const text = date.toISOString();
        // With a fraction of a second, only the long way reads it.
        const usual = readIso(`${text.slice(0, 19)}${written}`);
        expect(usual).toEqual(readIso(`${text.slice(0, 19)}.000${written}`));
      },
    ),
  );
});

test('offsets are minutes ahead of UTC', () => {
  expect(readIso('2026-11-21T15:03:00+01:30')?.writtenOffsetMs).toBe(90 * 60_000);
  expect(readIso('2026-11-21T15:03:00-09:00')?.writtenOffsetMs).toBe(-540 * 60_000);
  expect(readIso('2026-11-21T15:03:00Z')?.writtenOffsetMs).toBe(0);
  expect(readIso('2026-11-21T15:03:00')?.writtenOffsetMs).toBeUndefined();
  expect(readIso('2026-11-21T15:03:0x')).toBeUndefined();
});
