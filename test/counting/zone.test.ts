import { describe, expect, test } from 'vitest';
import { Zone } from '../../src/counting/zone.ts';

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

describe('Zone', () => {
  const berlin = new Zone('Europe/Berlin');

  test('reads a wall time in the hour that occurs twice as the first of both', () => {
    expect(iso(berlin.instantOfWall(Date.UTC(2026, 9, 25, 2, 30)))).toBe(
      '2026-10-25T00:30:00.000Z',
    );
    expect(iso(berlin.instantOfWall(Date.UTC(2026, 9, 25, 3, 0)))).toBe('2026-10-25T02:00:00.000Z');
  });

  test('reads a wall time that is left out with the offset from before', () => {
    expect(iso(berlin.instantOfWall(Date.UTC(2026, 2, 29, 2, 30)))).toBe(
      '2026-03-29T01:30:00.000Z',
    );
  });

  test('knows the offset on both sides of a transition, and at it', () => {
    const transition = Date.UTC(2026, 2, 29, 1);
    expect(berlin.offsetMsAt(transition - 1)).toBe(3_600_000);
    expect(berlin.offsetMsAt(transition)).toBe(7_200_000);
    expect(berlin.nextTransitionAfter(transition - 1)).toBe(transition);
    expect(berlin.nextTransitionAfter(transition)).toBe(Date.UTC(2026, 9, 25, 1));
  });

  test.each([
    ['Asia/Kathmandu', '2026-11-21T10:45:00+05:45'],
    ['America/St_Johns', '2026-11-21T01:30:00-03:30'],
    ['Pacific/Chatham', '2026-11-21T18:45:00+13:45'],
    ['UTC', '2026-11-21T05:00:00+00:00'],
  ])('writes local time with its offset in %s', (name, text) => {
    const zone = new Zone(name);
    expect(zone.format(Date.UTC(2026, 10, 21, 5))).toBe(text);
    expect(Date.parse(text)).toBe(Date.UTC(2026, 10, 21, 5));
  });

  test('finds back every hour of two years from the wall, but the second of the hour that occurs twice', () => {
    for (const name of ['America/New_York', 'Australia/Lord_Howe', 'Africa/Cairo']) {
      const zone = new Zone(name);
      const lost = [];
      for (let ms = Date.UTC(2025, 0); ms < Date.UTC(2027, 0); ms += 1_800_000) {
        if (zone.instantOfWall(ms + zone.offsetMsAt(ms)) !== ms) {
          lost.push(ms);
        }
      }
      expect(lost.length).toBe(name === 'Australia/Lord_Howe' ? 2 : 4);
    }
  });
});
