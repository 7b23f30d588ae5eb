/** What the simulated service says of itself is what its answers add up to. */
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { plainConventions } from '../../src/simulator/conventions.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { drawConventions } from '../../src/simulator/drawn-conventions.ts';
import { NOW_MS, at, silent, small, sum } from './support.ts';

const PEOPLE = '/v1/peoplecount';
const LOGIN = '/v1/login';

describe('the truth', () => {
  test.each([
    ['plain', {}],
    ['whole minutes', { resolutionMs: 60_000 }],
    ['inclusive', { fromEdge: 'inclusive', resolutionMs: 1_000 }],
    ['devices a month ahead', { deviceClocks: { share: 0.3, aheadMs: 30 * 86_400_000 } }],
    ['keys of another time', { keyTime: 'server', serviceClockMs: 180_000 }],
  ] as const)('is the sum of every answer: %s', (_, conventions: Partial<Conventions>) => {
    const { ask, service } = small(conventions, {
      branches: [
        { id: 1, name: 'One' },
        { id: 2, name: 'Two' },
      ],
    });
    for (const from of ['2026-03-01T03:00:00Z', '2026-03-18T13:45:00Z']) {
      const { served } = service.truth('lone', at(from));
      for (const aggregation of ['branch', 'client', 'device', 'day', 'quarter', 'minute']) {
        const { result } = ask(PEOPLE, { aggregation, from });
        expect({ aggregation, ...sum(result) }).toEqual({
          aggregation,
          in: served.entered,
          out: served.exited,
        });
      }
      for (const aggregation of ['day', 'quarter', 'minute']) {
        const values = ask(LOGIN, { aggregation, from }).result.map(({ value }) => value);
        expect(values.reduce((total, value) => total + value, 0)).toBe(served.logins);
      }
    }
  });

  test('is the sum of the answers over drawn conventions, whatever was asked before', () => {
    for (let seed = 0; seed < 60; seed++) {
      const conventions: Conventions = {
        ...drawConventions(seededRandom(seed)),
        forced: plainConventions.forced,
        designator: 'honoured',
        window: 'as asked',
        dayFreshness: 'live',
        rateLimit: undefined,
      };
      const { ask, service } = small(conventions, {}, NOW_MS + seed * 3_700_000);
      const from = new Date(NOW_MS - (seed + 1) * 3_600_000 * 7).toISOString();
      const { result } = ask(PEOPLE, { aggregation: 'day', from });
      const { entered, exited } = service.truth('lone', at(from)).served;
      expect({ seed, ...sum(result) }).toEqual({ seed, in: entered, out: exited });
      const raw = small(conventions, {}, NOW_MS + seed * 3_700_000).service.truth('lone', at(from));
      expect(raw.served.entered).toBe(entered);
    }
  });

  test('goes by when things took place, and by what had arrived', () => {
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

  test('keeps occupancy from falling below nobody', () => {
    const { service } = silent();
    const startMs = at('2026-03-18T04:00:00Z');
    function pass(kind: 'in' | 'out', minute: number, amount: number): void {
      service.record('lone', { kind, atMs: startMs + minute * 60_000 + 500, amount });
    }
    pass('out', 1, 5);
    pass('in', 3, 2);
    pass('out', 3, 1);
    pass('in', 4, 1);
    expect(service.occupancyPath('lone', startMs)).toEqual([
      { minuteMs: startMs + 60_000, entered: 0, exited: 5, people: 0 },
      { minuteMs: startMs + 180_000, entered: 2, exited: 1, people: 1 },
      { minuteMs: startMs + 240_000, entered: 1, exited: 0, people: 2 },
    ]);
    expect(service.occupancy('lone', startMs)).toBe(2);
    expect(service.occupancy('lone', NOW_MS)).toBe(0);
  });

  test('does not depend on how many records are remembered', () => {
    const lateness = { usualMs: 60_000, offlineShare: 0.2, offlineMaxMs: 6 * 3_600_000 };
    const remembering = small({ lateness });
    const forgetful = small({ lateness }, {}, NOW_MS, 1);
    for (const from of ['2026-02-20T05:30:00Z', '2026-03-18T10:00:00Z', '2026-03-02T05:30:00Z']) {
      const query = { aggregation: 'minute', from };
      expect(forgetful.ask(PEOPLE, query)).toEqual(remembering.ask(PEOPLE, query));
      const truth = remembering.service.truth('lone', at(from));
      expect(forgetful.service.truth('lone', at(from))).toEqual(truth);
    }
  });
});
