import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { openSpell } from '../../src/simulator/libraries.ts';
import { weekdayOf } from '../../src/simulator/traffic.ts';
import { createWorld, exporterConfigYaml } from '../../src/simulator/world.ts';
import { createZones } from '../../src/simulator/zone.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { NOW_MS } from './support.ts';

const HOUR_MS = 3_600_000;
const zones = createZones();

function worldAt(nowMs: number, customers = 5) {
  return createWorld({ seed: 1, customers, clock: new VirtualClock(nowMs) });
}

describe('the five customers of the demo', () => {
  // In winter and in summer: the four zones change their clocks in different weeks.
  test.each(['2026-01-05T00:00:00Z', '2026-03-23T00:00:00Z', '2026-07-06T00:00:00Z'])(
    'have at least three open and alive at every hour of the week from %s',
    (start) => {
      const { service, customers } = worldAt(Date.parse(start));
      for (let hour = 0; hour < 7 * 24; hour++) {
        const nowMs = Date.parse(start) + hour * HOUR_MS + 20 * 60_000;
        const alive = customers.filter(({ library }) => {
          const zone = zones(library.timezone);
          const wallMinute = Math.floor((nowMs + zone.offsetMsAt(nowMs)) / 60_000) % 1_440;
          const spell = openSpell(library.opening, weekdayOf(zone.dayOf(nowMs)), wallMinute);
          const { entered } = service.truth(library.name, nowMs - 15 * 60_000, nowMs);
          return spell !== undefined && entered >= 5;
        });
        expect({ hour, alive: alive.length >= 3 }).toEqual({ hour, alive: true });
      }
    },
  );

  test('one of which has a door that died yesterday, and stations that did not', () => {
    const { service } = worldAt(NOW_MS);
    const midnightMs = Date.parse('2026-03-18T00:00:00Z');
    const today = service.truth('old-town', midnightMs);
    expect(today.entered).toBe(0);
    expect(today.logins).toBeGreaterThan(20);
    const deathMs = Date.parse('2026-03-17T14:37:00Z');
    expect(service.truth('old-town', deathMs).entered).toBe(0);
    expect(service.truth('old-town', deathMs - HOUR_MS).entered).toBeGreaterThan(20);
    expect(service.truth('old-town', NOW_MS - 34 * 24 * HOUR_MS).entered).toBeGreaterThan(10_000);
  });

  test('fill and empty within minutes', async () => {
    const clock = new VirtualClock(NOW_MS);
    const { service } = createWorld({ seed: 1, customers: 5, clock });
    const dayStartMs = Date.parse('2026-03-18T03:00:00Z');
    const seen = new Set<number>();
    for (let minute = 0; minute < 10; minute++) {
      seen.add(service.occupancy('riverside', dayStartMs));
      await clock.advance(60_000);
    }
    expect(seen.size).toBeGreaterThan(4);
    expect(Math.min(...seen)).toBeGreaterThan(20);
    expect(Math.max(...seen)).toBeLessThan(200);
  });
});

describe('a world', () => {
  test('is the same for a seed, and another one for another', () => {
    function customers(seed: number) {
      return createWorld({ seed, customers: 20, clock: new VirtualClock(NOW_MS) }).customers;
    }
    expect(customers(1)).toEqual(customers(1));
    expect(customers(1)[7]?.clientSecret).not.toBe(customers(2)[7]?.clientSecret);
  });

  test('has unique names, client ids and numbers for thousands of customers', () => {
    const { customers } = worldAt(NOW_MS, 7_000);
    expect(new Set(customers.map(({ clientId }) => clientId)).size).toBe(7_000);
    expect(new Set(customers.map(({ clientSecret }) => clientSecret)).size).toBe(7_000);
    expect(new Set(customers.map(({ library }) => library.name)).size).toBe(7_000);
    const names = customers.slice(0, 1_000).map(({ library }) => library.name);
    expect(names.filter((name) => !/^[a-z]+(-[a-z]+)*$/.test(name))).toEqual([]);
    const devices = customers.flatMap(({ library }) => library.devices.map(({ id }) => id));
    expect(new Set(devices).size).toBe(devices.length);
  });

  test('can be written as the configuration of an exporter', () => {
    const world = worldAt(NOW_MS);
    const text = exporterConfigYaml(world, 'http://127.0.0.1:1234', {
      polling: { interval: '5s' },
    });
    const config = parse(text) as Record<string, unknown> & { customers: unknown[] };
    expect(config['service']).toEqual({
      base_url: 'http://127.0.0.1:1234',
      auth_url: 'http://127.0.0.1:1234',
      scope: 'ServiceAPI',
    });
    expect(config['polling']).toEqual({ interval: '5s' });
    expect(config.customers).toHaveLength(5);
    expect(config.customers[4]).toEqual({
      name: 'old-town',
      client_id: 'old-town-api',
      client_secret: world.customers[4]?.clientSecret,
      timezone: 'Europe/London',
      capacity: 90,
      opening_hours: 'Mo-Fr 08:00-20:00; Sa 10:00-17:00; Su 11:00-16:00',
      labels: { region: 'north' },
      branches: { 501: 'Old Town' },
    });
  });
});
