import { describe, expect, test } from 'vitest';
import {
  ALWAYS_OPEN,
  OFFICE_HOURS,
  deadFrom,
  drawLibrary,
  sensorSetting,
} from '../../src/simulator/libraries.ts';
import type { Library, SensorSetting } from '../../src/simulator/libraries.ts';
import { countPasses, dayTraffic } from '../../src/simulator/traffic.ts';
import { createZones } from '../../src/simulator/zone.ts';

const zones = createZones();
const WEDNESDAY = Date.UTC(2026, 2, 18) / 86_400_000;

describe('traffic of a day', () => {
  test('has entries within opening hours, lets everybody leave, and logs some of them in', () => {
    const settings = { visitsPerDay: 800, opening: OFFICE_HOURS, loginShare: 0.5 };
    const library = drawLibrary(3, 9, settings);
    const { people, logins } = dayTraffic(library, zones('Asia/Kolkata'), WEDNESDAY);
    let inside = 0;
    const path = people.map((pass) => (inside += pass.people));
    expect([Math.min(...path), path.at(-1)]).toEqual([0, 0]);
    const times = people.map(({ timeMs }) => timeMs);
    const entries = people.filter((pass) => pass.people > 0);
    expect(entries.length).toBeGreaterThan(500);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(Date.parse('2026-03-18T08:00:00+05:30'));
    expect(entries.at(-1)?.timeMs).toBeLessThan(Date.parse('2026-03-18T20:01:00+05:30'));
    expect(Math.max(...times)).toBeLessThan(Date.parse('2026-03-18T20:05:00+05:30'));
    expect(logins.length / entries.length).toBeGreaterThan(0.25);
    expect(logins.length / entries.length).toBeLessThan(0.5);
  });

  test('passes the doors of a branch only in its own hours, more of them where it is busier', () => {
    const morning = [{ weekdays: [2], fromMinute: 600, toMinute: 720 }];
    const branches = [
      { id: 1, name: 'Main' },
      { id: 2, name: 'North', opening: morning, weight: 0.5 },
      { id: 3, name: 'South', weight: 3 },
    ];
    const library = drawLibrary(3, 9, { visitsPerDay: 3_000, opening: OFFICE_HOURS, branches });
    const { people } = dayTraffic(library, zones('UTC'), WEDNESDAY);
    const byBranch = Map.groupBy(people, ({ device }) => library.devices[device]?.branchId);
    const [main = [], north = [], south = []] = [1, 2, 3].map((id) => byBranch.get(id));
    const times = north.map(({ timeMs }) => timeMs);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(Date.parse('2026-03-18T10:00:00Z'));
    expect(Math.max(...times)).toBeLessThan(Date.parse('2026-03-18T12:05:00Z'));
    expect(north.reduce((sum, pass) => sum + pass.people, 0)).toBe(0);
    expect(north.length).toBeGreaterThan(20);
    expect(south.length / main.length).toBeGreaterThan(2.5);
    expect(south.length / main.length).toBeLessThan(3.5);
  });
});

describe('sensors', () => {
  const drawn = drawLibrary(3, 9, { visitsPerDay: 4_000, opening: ALWAYS_OPEN, groupChance: 0 });
  const zone = zones(drawn.timezone);
  const { people } = dayTraffic(drawn, zone, WEDNESDAY);
  const noonMs = zone.instantOf(WEDNESDAY * 86_400_000 + 12 * 3_600_000);
  const actual = totals(people);

  function totals(passes: readonly { readonly people: number }[]) {
    return {
      in: passes.reduce((sum, pass) => sum + Math.max(0, pass.people), 0),
      out: passes.reduce((sum, pass) => sum + Math.max(0, -pass.people), 0),
    };
  }
  /** Counted people relative to the people who passed. */
  function shares(sensor: readonly SensorSetting[]) {
    const devices = drawn.devices.map((device) => ({ ...device, sensor }));
    const counted = totals(countPasses({ ...drawn, devices }, people));
    return { in: counted.in / actual.in, out: counted.out / actual.out };
  }

  test('count everybody, a share of each direction, or nobody', () => {
    expect(shares([sensorSetting(-Infinity, 1)])).toEqual({ in: 1, out: 1 });
    const biased = shares([sensorSetting(-Infinity, 0.9, 0.8)]);
    expect(biased.in).toBeCloseTo(0.9, 1);
    expect(biased.out).toBeCloseTo(0.8, 1);
    expect(shares([sensorSetting(-Infinity, 1, 0)])).toEqual({ in: 1, out: 0 });
  });

  test('change at an instant', () => {
    const { in: counted } = shares([sensorSetting(-Infinity, 1), sensorSetting(noonMs, 0)]);
    expect(counted).toBeGreaterThan(0.1);
    expect(counted).toBeLessThan(0.6);
    const dead: Library = { ...drawn, devices: drawn.devices.map((one) => deadFrom(one, 0)) };
    expect(countPasses(dead, people)).toEqual([]);
  });
});
