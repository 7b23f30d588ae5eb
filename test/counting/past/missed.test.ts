/** The library of fixture.ts: of entries four, of exits three are usual in each quarter-hour. */
import { describe, expect, test } from 'vitest';
import { missedPeople } from '../../../src/counting/past/missed.ts';
import type { Missed } from '../../../src/counting/past/missed.ts';
import { usualPeople } from '../../../src/counting/past/usual.ts';
import { at, countsAt, pastOf, TODAY } from './fixture.ts';

function missedAt(
  time: string,
  counts: Readonly<Record<string, readonly number[]>>,
  past = pastOf(),
): Missed {
  const today = { ...countsAt(time, counts), endMs: at(`${TODAY}T${time}`) };
  return missedPeople(past, today, usualPeople(past, today));
}

test.each([
  ['entry', { '09:50': [0, 1], '10:14': [1, 0] }],
  ['exit', { '09:50': [1, 0], '10:14': [0, 1] }],
])('since the last %s, the direction with more usual counts was missed', (_, counts) => {
  // From 10:15 to an hour before the poll.
  expect(missedAt('12:00', counts).people).toBeCloseTo(3 * 4, 9);
  const moreExits = pastOf({ counts: () => [3, 5] });
  expect(missedAt('12:00', counts, moreExits).people).toBeCloseTo(3 * 5, 9);
});

describe('before a direction counted again', () => {
  // From 10:00 until an hour before the last of the other direction: 64 minutes.
  test.each([
    ['entries', [0, 20], [1, 0], [4 * (64 / 15), 0]],
    ['exits', [20, 0], [0, 1], [0, 3 * (64 / 15)]],
  ])('%s were missed that are usual', (_, others, own, [entries = NaN, exits = NaN]) => {
    const counts = { '09:59': [1, 1], '10:30': others, '12:04': others, '12:30': own };
    const missed = missedAt('13:00', counts);
    expect(missed.earlierEntries).toBeCloseTo(entries, 9);
    expect(missed.earlierExits).toBeCloseTo(exits, 9);
  });

  function earlierEntries(counts: Readonly<Record<string, readonly number[]>>): number {
    return missedAt('15:00', { '09:59': [1, 1], ...counts }).earlierEntries;
  }

  test('at most as many as the other direction counted in that time', () => {
    expect(earlierEntries({ '10:30': [0, 2], '12:04': [0, 20], '12:30': [1, 0] })).toBe(2);
  });

  test('the most of several times', () => {
    const first = { '10:30': [0, 3], '11:50': [0, 9], '12:00': [1, 0] };
    const counts = { ...first, '12:20': [0, 2], '13:40': [0, 9], '14:00': [1, 0] };
    expect(earlierEntries(counts)).toBe(3);
    expect(earlierEntries({ ...counts, '12:20': [0, 5] })).toBe(5);
  });

  test('nobody was missed while the other direction counted nobody, or without counting again', () => {
    expect(earlierEntries({ '10:30': [0, 2], '11:00': [0, 1], '14:00': [1, 0] })).toBe(0);
    expect(earlierEntries({ '10:30': [0, 2], '12:04': [0, 20] })).toBe(0);
    expect(earlierEntries({ '10:30': [0, 2], '12:04': [0, 20], '15:00': [1, 0] })).toBe(0);
  });
});
