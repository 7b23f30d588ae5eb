import { describe, expect, test } from 'vitest';
import { Zone } from '../../../src/counting/calendar/zone.ts';

describe('Zone', () => {
  const berlin = new Zone('Europe/Berlin');

  test.each([
    ['in the repeated hour is the first of both', '2026-10-25T02:30Z', '2026-10-25T00:30'],
    ['after the repeated hour is unique', '2026-10-25T03:00Z', '2026-10-25T02:00'],
    ['that is skipped has the offset before the gap', '2026-03-29T02:30Z', '2026-03-29T01:30'],
  ])('a wall-clock time %s', (_, wall, expected) => {
    const instant = new Date(berlin.instantOfWall(Date.parse(wall)));
    expect(instant.toISOString().slice(0, 16)).toBe(expected);
  });

  test('knows the offset before, at and after a transition', () => {
    const transition = Date.UTC(2026, 2, 29, 1);
    expect(berlin.offsetMsAt(transition - 1)).toBe(3_600_000);
    expect(berlin.offsetMsAt(transition)).toBe(7_200_000);
    expect(berlin.nextTransitionAfter(transition - 1)).toBe(transition);
    expect(berlin.nextTransitionAfter(transition)).toBe(Date.UTC(2026, 9, 25, 1));
    expect(new Zone('UTC').nextTransitionAfter(transition)).toBe(Infinity);
  });

  test.each([
    ['Asia/Kathmandu', '2026-11-21T10:45:00+05:45'],
    ['America/St_Johns', '2026-11-21T01:30:00-03:30'],
    ['UTC', '2026-11-21T05:00:00+00:00'],
  ])('formats local time with its offset in %s', (name, text) => {
    expect(new Zone(name).format(Date.UTC(2026, 10, 21, 5))).toBe(text);
  });

  test('every half hour of two years is found from its wall-clock time, except repeated ones', () => {
    const zone = new Zone('America/New_York');
    const repeated: string[] = [];
    for (let ms = Date.UTC(2025, 0); ms < Date.UTC(2027, 0); ms += 1_800_000) {
      if (zone.instantOfWall(ms + zone.offsetMsAt(ms)) !== ms) {
        repeated.push(zone.format(ms).slice(0, 16));
      }
    }
    const nights = ['2025-11-02', '2026-11-01'];
    expect(repeated).toEqual(nights.flatMap((night) => [`${night}T01:00`, `${night}T01:30`]));
  });
});
