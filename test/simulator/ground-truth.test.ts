import { describe, expect, test } from 'vitest';
import { BREAKDOWNS } from '../../src/base/model.ts';

import type { Conventions } from '../../src/simulator/conventions.ts';
import { OFFICE_HOURS, sensorSetting } from '../../src/simulator/libraries.ts';
import { LOGIN, NOW_MS, PEOPLE, at, silent, small, sum } from './support.ts';

const BRANCHES = [
  { id: 7, name: 'Main Library' },
  { id: 8, name: 'West Branch' },
];

describe('totals', () => {
  test.each([
    ['plain', {}],
    ['whole minutes', { resolutionMs: 60_000 }],
    ['devices a month ahead', { deviceClocks: { share: 0.3, aheadMs: 30 * 86_400_000 } }],
    ['keys of another time', { keyTime: 'server', serviceClockMs: 180_000 }],
  ] as const)('are the sum of every answer: %s', (_, conventions: Partial<Conventions>) => {
    const { ask, service } = small(conventions, { branches: BRANCHES });
    for (const from of ['2026-03-01T03:00:00Z', '2026-03-18T13:45:00Z']) {
      const { entered, exited, logins } = service.served('lone', at(from));
      for (const aggregation of [...BREAKDOWNS, 'day', 'quarter', 'minute']) {
        const counted = sum(ask(PEOPLE, { aggregation, from }).result);
        expect({ aggregation, ...counted }).toEqual({ aggregation, in: entered, out: exited });
      }
      for (const aggregation of ['day', 'quarter', 'minute']) {
        const values = ask(LOGIN, { aggregation, from }).result.map(({ value }) => value);
        expect(values.reduce((total, value) => total + value, 0)).toBe(logins);
      }
      for (const breakdown of BREAKDOWNS) {
        const groups = [...service.breakdownTotals('lone', breakdown, at(from)).values()];
        expect(groups.reduce((total, group) => total + group.entered, 0)).toBe(entered);
      }
    }
  });

  test('depend on the time of the event and of the arrival', () => {
    const { service } = silent({ deviceClocks: { share: 1, aheadMs: 3_600_000 } });
    const atMs = at('2026-03-18T10:00:00Z');
    service.record('lone', { kind: 'in', atMs, arrivesMs: atMs + 60_000, amount: 4 });
    service.record('lone', { kind: 'out', atMs: atMs + 60_000, arrivesMs: NOW_MS + 1 });
    service.record('lone', { kind: 'login', atMs });
    const totals = { entered: 4, exited: 0, logins: 1 };
    expect(service.truth('lone', atMs)).toEqual({ ...totals, served: totals });
    const nothing = { entered: 0, exited: 0, logins: 0 };
    expect(service.truth('lone', atMs + 1)).toEqual({ ...nothing, served: totals });
    expect(service.truth('lone', atMs, atMs + 59_999).entered).toBe(0);
    expect(service.truth('lone', atMs, NOW_MS + 1).exited).toBe(1);
  });
});

test('counted occupancy is clamped at 0 in every minute', () => {
  const { service } = silent();
  const startMs = at('2026-03-18T04:00:00Z');
  function pass(kind: 'in' | 'out', minute: number, amount: number): void {
    service.record('lone', { kind, atMs: startMs + minute * 60_000 + 500, amount });
  }
  pass('out', 1, 5);
  pass('in', 3, 2);
  pass('out', 3, 1);
  pass('in', 4, 1);
  expect(service.countedOccupancy('lone', startMs)).toEqual([
    { minuteMs: startMs + 60_000, entered: 0, exited: 5, people: 0 },
    { minuteMs: startMs + 180_000, entered: 2, exited: 1, people: 1 },
    { minuteMs: startMs + 240_000, entered: 1, exited: 0, people: 2 },
  ]);
});

describe('true occupancy', () => {
  const library = { visitsPerDay: 2_000, opening: OFFICE_HOURS };
  const devices = small({}, library).service.customers[0]?.library.devices ?? [];
  const startMs = at('2026-03-17T03:00:00Z');
  const endMs = at('2026-03-18T03:00:00Z');

  function occupancy(entries: number, exits: number) {
    const sensor = [sensorSetting(-Infinity, entries, exits)];
    const { service } = small(
      {},
      { ...library, devices: devices.map((one) => ({ ...one, sensor })) },
    );
    const minutes: number[] = Array.from({ length: 1_440 }, () => 0);
    for (const { minuteMs, people } of service.countedOccupancy('lone', startMs)) {
      minutes.fill(people, (minuteMs - startMs) / 60_000);
    }
    return { actual: service.trueOccupancy('lone', startMs, endMs), counted: minutes };
  }

  test('is what exact sensors count, minute by minute, and 0 at night', () => {
    const { actual, counted } = occupancy(1, 1);
    expect(actual).toHaveLength(1_440);
    expect(Math.max(...actual)).toBeGreaterThan(50);
    expect([actual[0], actual.at(-1)]).toEqual([0, 0]);
    expect(counted).toEqual(actual);
  });

  test('is known before late records of an offline device are', () => {
    const noonMs = at('2026-03-17T12:00:00Z');
    const offline = [{ fromMs: noonMs, toMs: noonMs + 6 * 3_600_000 }];
    const { service } = small(
      {},
      { ...library, devices: devices.map((one) => ({ ...one, offline })) },
    );
    const { entered } = service.truth('lone', noonMs, noonMs + 6 * 3_600_000 - 1);
    expect(entered).toBe(0);
    expect(service.truth('lone', noonMs, noonMs + 6 * 3_600_000).entered).toBeGreaterThan(500);
    const inside = service.trueOccupancy('lone', noonMs, noonMs + 3_600_000);
    expect(Math.min(...inside)).toBeGreaterThan(20);
  });
});
