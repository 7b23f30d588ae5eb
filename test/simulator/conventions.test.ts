/**
 * Switches of the conventions change responses. Those of clocks, lags and metadata: test/cli/check.test.ts.
 * How keys of days and quarters are written has no test: the exporter does not read them.
 */
import { describe, expect, test } from 'vitest';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { MINUTE_KEYS } from '../support/simulated-people.ts';
import { PEOPLE, at, oneEntry, silent } from './support.ts';

describe('the window', () => {
  test.each([
    [{ fromEdge: 'inclusive' }, { from: '2026-03-18T11:34:56.789Z' }, 1],
    [{ fromEdge: 'exclusive' }, { from: '2026-03-18T11:34:56.789Z' }, 0],
    [{ toEdge: 'inclusive' }, { from: '2026-03-18', to: '2026-03-18T11:34:56.789Z' }, 1],
    [{ toEdge: 'exclusive' }, { from: '2026-03-18', to: '2026-03-18T11:34:56.789Z' }, 0],
    [{ resolutionMs: 60_000 }, { from: '2026-03-18T11:33:59Z' }, 1],
    [{ resolutionMs: 60_000 }, { from: '2026-03-18T11:34:00Z' }, 0],
    [{ designator: 'honoured' }, { from: '2026-03-18T12:30:00+01:00' }, 1],
    [{ window: 'as asked' }, { aggregation: 'day', from: '2026-03-18T11:40:00Z' }, 0],
    [{ window: 'whole buckets' }, { aggregation: 'day', from: '2026-03-18T11:40:00Z' }, 1],
  ] as const)('with %j and %j has %i row', (conventions, query, count) => {
    const asked = { aggregation: 'minute', ...query };
    expect(oneEntry(conventions).ask(PEOPLE, asked).result).toHaveLength(count);
  });

  test('without an offset starts at the earlier of two instants, and after a gap', () => {
    function found(edge: string, instant: string): number {
      const one = silent({ fromEdge: 'inclusive' }, at('2026-10-26T12:00:00Z'));
      one.service.record('lone', { kind: 'in', atMs: at(instant) });
      return one.ask(PEOPLE, { aggregation: 'minute', from: edge }).result.length;
    }
    expect(found('2026-10-25T02:30:00', '2026-10-25T00:30:00Z')).toBe(1);
    expect(found('2026-10-25T02:30:00', '2026-10-25T00:29:59Z')).toBe(0);
    expect(found('2026-03-29T02:30:00', '2026-03-29T01:30:00Z')).toBe(1);
    expect(found('2026-03-29T02:30:00', '2026-03-29T01:29:59Z')).toBe(0);
  });
});

test('rows with the same key (clocks set back) are two, or one', () => {
  const minuteKey = MINUTE_KEYS['local time with a blank'];
  function rows(repeatedKeys: Conventions['repeatedKeys']) {
    const one = silent({ minuteKey, repeatedKeys }, at('2026-10-25T12:00:00Z'));
    one.service.record('lone', { kind: 'in', atMs: at('2026-10-25T00:30:00Z') });
    one.service.record('lone', { kind: 'out', atMs: at('2026-10-25T01:30:00Z') });
    return one.ask(PEOPLE, { aggregation: 'minute', from: '2026-10-24T12:00:00Z' }).result;
  }
  const key = '2026-10-25 02:30';
  expect(rows('separate')).toEqual([
    { key, in: 1, out: 0 },
    { key, in: 0, out: 1 },
  ]);
  expect(rows('merged')).toEqual([{ key, in: 1, out: 1 }]);
});
