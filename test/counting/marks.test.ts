/** The marks: what they remember and for how long, and what of a damaged file is left out. */
import { describe, expect, test } from 'vitest';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { NOVEMBER, NOW_MS, OCTOBER, OWNER } from '../support/owner.ts';
import { countedStream } from './counted-logins.ts';
import { GOOD, textOf } from './marks-file.ts';

const DAY_MS = 86_400_000;

function restoredFrom(entries: readonly unknown[], nowMs = NOW_MS) {
  const marks = new HighWaterMarks();
  const droppedKeys = marks.restore(textOf(entries), nowMs);
  return { value: marks.get(OWNER, 'logins')?.value, droppedKeys, marks };
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
    expect(restoredFrom([entry])).toMatchObject({ value: undefined, droppedKeys: 1 });
    const other = GOOD.with(3, 'people_entered');
    const { marks, droppedKeys } = restoredFrom([entry, other]);
    expect(droppedKeys).toBe(1);
    expect(marks.get(OWNER, 'people_entered')?.value).toBe(7);
  });

  test.each([[[5, 7, 6]], [[7, 5, 6]], [[5, 6, 7]]])(
    'that is there several times, with %j, counts as the highest',
    (values) => {
      const { value, droppedKeys, marks } = restoredFrom(values.map((copy) => GOOD.with(6, copy)));
      expect({ value, droppedKeys }).toEqual({ value: 7, droppedKeys: 0 });
      expect(marks.serialize(NOW_MS).match(/riverside-api/g)).toHaveLength(1);
    },
  );

  test('of an epoch in the future moves nothing', async () => {
    const december = GOOD.with(4, NOVEMBER.endMs).with(5, 24323).with(6, 9000);
    const counted = countedStream(() => 40);
    counted.marks.restore(textOf([december]), NOW_MS);
    await counted.poll();
    expect(counted.figures().periodStartMs).toBe(NOVEMBER.startMs);
    expect(counted.totals()).toEqual([40]);
  });
});

describe('the marks', () => {
  test('come back as they were', () => {
    const marks = new HighWaterMarks();
    const odd = { service: 'a"b', clientId: 'c\\d', customer: 'é,]\n' };
    marks.update(odd, 'logins', NOVEMBER, 412, NOW_MS);
    const again = new HighWaterMarks();
    expect(again.restore(marks.serialize(NOW_MS), NOW_MS)).toBe(0);
    expect(again.get(odd, 'logins')).toEqual(marks.get(odd, 'logins'));
    expect(again.serialize(NOW_MS)).toBe(marks.serialize(NOW_MS));
  });

  test('of two epochs are two, and an older one is not lost by a newer one', () => {
    const marks = new HighWaterMarks();
    marks.update(OWNER, 'logins', OCTOBER, 900, NOW_MS);
    marks.update(OWNER, 'logins', NOVEMBER, 7, NOW_MS);
    expect(marks.update(OWNER, 'logins', OCTOBER, 899, NOW_MS)).toBe(900);
    expect(marks.update(OWNER, 'logins', NOVEMBER, 6, NOW_MS)).toBe(7);
    const again = new HighWaterMarks();
    again.restore(marks.serialize(NOW_MS), NOW_MS);
    expect(again.get(OWNER, 'logins')?.value).toBe(7);
    expect(again.ofPeriod(OWNER, 'logins', OCTOBER.startMs)?.value).toBe(900);
  });

  test('are kept of three epochs at most, over years', () => {
    const marks = new HighWaterMarks();
    for (let i = 0; i < 60; i++) {
      const startMs = Date.UTC(2026, i, 1, 3);
      const epoch = { startMs, endMs: Date.UTC(2026, i + 1, 1, 3), month: 2026 * 12 + i };
      marks.update(OWNER, 'logins', epoch, 5, startMs);
    }
    expect(marks.serialize(0).match(/riverside-api/g)).toHaveLength(3);
  });

  test('of customers that are gone leave the file after some months', () => {
    const marks = new HighWaterMarks();
    marks.update(OWNER, 'logins', NOVEMBER, 7, NOW_MS);
    expect(marks.serialize(NOVEMBER.startMs + 70 * DAY_MS)).toContain('riverside');
    expect(marks.serialize(NOVEMBER.startMs + 71 * DAY_MS)).not.toContain('riverside');
  });

  test('survive a start at which our clock is decades behind', () => {
    const { value, marks } = restoredFrom([GOOD], Date.UTC(1970, 0, 1));
    expect(value).toBe(7);
    expect(marks.serialize(Date.UTC(1970, 0, 1))).toContain('riverside');
  });
});
