import { describe, expect, test } from 'vitest';
import { BREAKDOWNS } from '../../src/base/model.ts';
import { NOW_MS, at, silent, small } from './support.ts';

const FROM_MS = NOW_MS - 3 * 86_400_000;
const BRANCHES = [
  { id: 7, name: 'Main Library' },
  { id: 8, name: 'West Branch' },
];

describe('the truth by branch, client and device', () => {
  test.each(BREAKDOWNS)('by %s adds up to the truth', (breakdown) => {
    const { service } = small({}, { branches: BRANCHES, visitsPerDay: 400 });
    const groups = [...service.brokenDownTruth('lone', breakdown, FROM_MS).values()];
    expect(groups.length).toBeGreaterThan(0);
    const { entered, exited } = service.truth('lone', FROM_MS).served;
    expect(groups.reduce((sum, group) => sum + group.entered, 0)).toBe(entered);
    expect(groups.reduce((sum, group) => sum + group.exited, 0)).toBe(exited);
  });

  test('follows records that arrive late and are taken back', () => {
    const { service } = silent();
    const [device] = service.customers[0]?.library.devices ?? [];
    const atMs = at('2026-03-18T09:00:00Z');
    const arrivesMs = at('2026-03-18T14:00:00Z');
    const id = service.record('lone', { kind: 'in', atMs, arrivesMs, amount: 3 });
    function branches(nowMs: number) {
      return [...service.brokenDownTruth('lone', 'branch', FROM_MS, nowMs)];
    }
    expect(branches(arrivesMs - 1)).toEqual([]);
    expect(branches(arrivesMs)).toEqual([[device?.branchId, { entered: 3, exited: 0 }]]);
    service.correct('lone', id, 0, NOW_MS);
    expect(branches(NOW_MS)).toEqual([]);
  });
});
