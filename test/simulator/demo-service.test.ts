import { describe, expect, test } from 'vitest';
import { createDemoService } from '../../src/simulator/demo-service.ts';
import { openInterval } from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { createZones, minuteOfDay, weekdayOf } from '../../src/simulator/zone.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { NOW_MS } from './support.ts';

const HOUR_MS = 3_600_000;
const zones = createZones();

function serviceAt(nowMs: number) {
  return createDemoService({ seed: 1, customers: 5, clock: new VirtualClock(nowMs) });
}

function isOpen({ timezone, opening }: Library, nowMs: number): boolean {
  const zone = zones(timezone);
  const weekday = weekdayOf(zone.dayOf(nowMs));
  return openInterval(opening, weekday, minuteOfDay(zone, nowMs)) !== undefined;
}

describe('the five customers of the demo', () => {
  test('have two busy libraries and an open one with a dead door at any time of the week', () => {
    // Some of the zones have changed their clocks and others not yet.
    const startMs = Date.parse('2026-03-23T00:00:00Z');
    const service = serviceAt(startMs);
    for (let hour = 0; hour < 7 * 24; hour += 2) {
      const nowMs = startMs + hour * HOUR_MS + 20 * 60_000;
      const open = service.customers.filter(({ library }) => isOpen(library, nowMs));
      const busy = open.filter(
        ({ library: { name } }) =>
          service.groundTruth(name, nowMs - 15 * 60_000, nowMs).entered >= 5,
      );
      const withDeadDoor = open.filter(({ library: { name, devices } }) => {
        const counting = service.breakdownTotals(name, 'device', nowMs - 4 * HOUR_MS, nowMs);
        return devices.some(({ id, kind }) => kind === 'door' && !counting.has(id));
      });
      const found = { hour, busy: busy.length >= 2, dead: withDeadDoor.length >= 1 };
      expect(found).toEqual({ hour, busy: true, dead: true });
    }
  });

  test('have three branches in one place, of which one has a dead door and one shorter hours', () => {
    const service = serviceAt(NOW_MS);
    const branches = service.customers.map(({ library }) => library.branches);
    expect(branches.map(({ length }) => length)).toEqual([1, 3, 1, 1, 1]);
    const ids = branches[1]?.map(({ id }) => id) ?? [];
    /** Returns the places of the branches that counted anybody. */
    function countedBranches(from: string, to: string): string {
      const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
      const counted = service.breakdownTotals('harbour-point', 'branch', fromMs, toMs);
      return ids.flatMap((id, i) => (counted.has(id) ? [i + 1] : [])).join();
    }
    expect(countedBranches('2026-03-16T14:00:00Z', '2026-03-17T14:00:00Z')).toBe('1,2,3');
    // The second is closed from eight in the evening on.
    expect(countedBranches('2026-03-17T00:10:00Z', '2026-03-17T03:00:00Z')).toBe('1,3');
    expect(countedBranches('2026-03-17T14:00:00Z', '2026-03-18T15:00:00Z')).toBe('1,2');
  });
});
