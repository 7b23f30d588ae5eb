import { describe, expect, test } from 'vitest';
import { counterOwner, HighWaterMarks, counterOfKey } from '../../src/counting/high-water-marks.ts';
import type { StoredMark } from '../../src/counting/high-water-marks.ts';
import { NOVEMBER, NOW_MS, OCTOBER, OWNER } from '../support/owner.ts';
import { customerNamed } from '../support/polled.ts';

const DECEMBER = { startMs: NOVEMBER.endMs, endMs: Date.UTC(2027, 0, 1, 3), month: 24323 };

function restored(stored: Iterable<StoredMark>) {
  const marks = new HighWaterMarks();
  const ignored = marks.restore(stored);
  return { marks, ignored, value: marks.get(OWNER, 'logins')?.value };
}

function markAt(periodStartMs: number): StoredMark {
  return { owner: OWNER, counter: 'logins', periodStartMs, value: 7, atMs: NOW_MS };
}

describe('high-water marks', () => {
  test('do not decrease within a counting period', () => {
    const marks = new HighWaterMarks();
    for (const [period, value, highest] of [
      [NOVEMBER, 7, 7],
      [NOVEMBER, 6, 7],
      [NOVEMBER, 8, 8],
      [NOVEMBER, 8, 8],
      [DECEMBER, 0, 0],
    ] as const) {
      marks.update(OWNER, 'logins', period, value, NOW_MS);
      expect(marks.ofPeriod(OWNER, 'logins', period.startMs)?.value).toBe(highest);
    }
  });

  test('are restored as they were, by service, client id and customer', () => {
    const marks = new HighWaterMarks();
    const owners = [
      counterOwner('a"b', 'c\\d', 'é,]\n'),
      counterOwner('https://other.example.org', 'riverside-api', 'riverside'),
      counterOwner('https://s.example.org', 'other-api', 'riverside'),
      counterOwner('https://s.example.org', 'riverside-api', 'hilltop'),
    ];
    owners.forEach((owner, i) => marks.update(owner, 'logins', NOVEMBER, 412 + i, NOW_MS));
    const { marks: again, ignored, value } = restored(marks.changedMarks('all'));
    expect([again.size, ignored, value]).toEqual([4, 0, undefined]);
    const values = owners.map((owner) => again.get(owner, 'logins')?.value);
    expect(values).toEqual([412, 413, 414, 415]);
  });

  test('of the running period and the one before are kept, over a restart too', () => {
    const marks = new HighWaterMarks();
    marks.update(OWNER, 'logins', OCTOBER, 900, NOW_MS);
    marks.update(OWNER, 'logins', NOVEMBER, 7, NOW_MS);
    const again = restored(marks.changedMarks('all')).marks;
    expect(again.get(OWNER, 'logins')?.value).toBe(7);
    again.update(OWNER, 'logins', NOVEMBER, 8, NOW_MS);
    expect(again.ofPeriod(OWNER, 'logins', OCTOBER.startMs)?.value).toBe(900);
    again.update(OWNER, 'logins', DECEMBER, 1, NOW_MS);
    expect(again.ofPeriod(OWNER, 'logins', OCTOBER.startMs)).toBeUndefined();
    const stored = [DECEMBER, NOVEMBER, OCTOBER].map(({ startMs }) => markAt(startMs));
    expect([...restored(stored).marks.changedMarks('all')]).toEqual(stored.slice(0, 2));
  });

  test('of a period that has not begun are ignored, and kept; a customer continues the newest one', () => {
    const marks = new HighWaterMarks();
    const moved = { ...NOVEMBER, startMs: NOVEMBER.startMs - 5 * 3_600_000 };
    marks.update(OWNER, 'people_entered', OCTOBER, 900, NOW_MS);
    marks.update(OWNER, 'people_exited', moved, 900, NOW_MS);
    marks.update(OWNER, 'people_exited', DECEMBER, 3, DECEMBER.startMs);
    const customer = customerNamed('riverside', marks, { owner: OWNER });
    const [beforeMs, atMs] = [DECEMBER.startMs - 1, DECEMBER.startMs];
    const starts = [beforeMs, atMs, beforeMs].map((ms) => customer.metricsAt(ms).periodStartMs);
    expect(starts).toEqual([moved.startMs, DECEMBER.startMs, moved.startMs]);
    expect(marks.size).toBe(3);
    expect(marks.get(OWNER, 'people_exited', DECEMBER.startMs)?.value).toBe(3);
  });

  test('say when the newest of them was raised, also after a restart', () => {
    const marks = new HighWaterMarks();
    expect(marks.newestMs).toBe(-Infinity);
    marks.update(OWNER, 'logins', NOVEMBER, 7, NOW_MS);
    marks.update(OWNER, 'people_entered', NOVEMBER, 7, NOW_MS - 60_000);
    marks.update(OWNER, 'logins', NOVEMBER, 6, NOW_MS + 60_000);
    for (const one of [marks, restored(marks.changedMarks('all')).marks]) {
      expect(one.newestMs).toBe(NOW_MS);
    }
  });

  test('of the newest period are the first, whichever was updated last', () => {
    const marks = new HighWaterMarks();
    marks.update(OWNER, 'logins', NOVEMBER, 7, NOW_MS);
    marks.update(OWNER, 'logins', OCTOBER, 900, NOW_MS);
    expect(marks.get(OWNER, 'logins')?.value).toBe(7);
  });

  test('of keys are found by breakdown, counter and period, whatever the key', () => {
    const marks = new HighWaterMarks();
    const keys = ['101', '', 'a:b', 'people_exited:7', '"\\\n'];
    const other = counterOwner('https://s.example.org', 'riverside-api', 'hillside');
    for (const [owner, counter, period] of [
      ...keys.map(
        (key) => [OWNER, counterOfKey('branch', 'people_entered', key), NOVEMBER] as const,
      ),
      [OWNER, counterOfKey('branch', 'people_exited', 'out'), NOVEMBER],
      [OWNER, counterOfKey('device', 'people_entered', 'door'), NOVEMBER],
      [OWNER, counterOfKey('branch', 'people_entered', 'old'), OCTOBER],
      [OWNER, 'people_entered', NOVEMBER],
      [other, counterOfKey('branch', 'people_entered', 'theirs'), NOVEMBER],
    ] as const) {
      marks.update(owner, counter, period, 7, NOW_MS);
    }
    for (const one of [marks, restored(marks.changedMarks('all')).marks]) {
      const found = one.ofKeys(OWNER, 'branch', 'people_entered', NOVEMBER.startMs);
      expect([...found.keys()].toSorted()).toEqual(keys.toSorted());
      expect(one.ofKeys('nobody', 'branch', 'people_entered', NOVEMBER.startMs).size).toBe(0);
    }
  });

  test('are returned for the store once after each change, or all of them', () => {
    const marks = new HighWaterMarks();
    marks.update(OWNER, 'logins', NOVEMBER, 7, NOW_MS);
    marks.update(OWNER, 'people_entered', NOVEMBER, 41, NOW_MS);
    const seven = markAt(NOVEMBER.startMs);
    const fortyOne = { ...seven, counter: 'people_entered', value: 41 };
    expect([...marks.changedMarks('changed')]).toEqual([seven, fortyOne]);
    marks.update(OWNER, 'logins', NOVEMBER, 7, NOW_MS + 1);
    expect([...marks.changedMarks('changed')]).toEqual([]);
    marks.update(OWNER, 'logins', NOVEMBER, 8, NOW_MS);
    expect([...marks.changedMarks('changed')]).toEqual([{ ...seven, value: 8 }]);
    expect([...marks.changedMarks('all')]).toHaveLength(2);
    expect([...marks.changedMarks('changed')]).toEqual([]);
  });

  test('of two other stored periods replace none of this process', () => {
    const marks = new HighWaterMarks();
    marks.update(OWNER, 'logins', NOVEMBER, 412, NOW_MS);
    const others = [OCTOBER.startMs, NOVEMBER.startMs + 7 * 3_600_000];
    marks.restore(others.map(markAt));
    expect(marks.ofPeriod(OWNER, 'logins', NOVEMBER.startMs)?.value).toBe(412);
  });

  // A mistyped start would be a period that never ends.
  test.each([
    ['2026-10-31T09:00:00.000Z', 7],
    ['2026-10-31T08:59:59.999Z', undefined],
    ['2026-11-02T13:00:00.000Z', 7],
    ['2026-11-02T13:00:00.001Z', undefined],
    ['0050-11-01T00:00:00.000Z', undefined],
  ])('are restored if a counting period can start then: %s', (start, expected) => {
    const { value, ignored } = restored([markAt(Date.parse(start))]);
    expect([value, ignored]).toEqual([expected, expected === undefined ? 1 : 0]);
  });
});
