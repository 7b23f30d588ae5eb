import { describe, expect, test } from 'vitest';
import { branchRecords } from '../support/ground-truth.ts';
import { NOW_MS, at, silent, small } from './support.ts';

const BRANCHES = [
  { id: 7, name: 'Main Library' },
  { id: 8, name: 'West Branch' },
];

describe('totals', () => {
  test.each([
    [
      'late records',
      { lateness: { usualMs: 600_000, offlineShare: 0.3, offlineMaxMs: 86_400_000 } },
    ],
    ['corrected records', { corrections: { share: 0.2, withinMs: 86_400_000 } }],
    ['records that expire', { retentionMs: 12 * 86_400_000 }],
  ] as const)('are those of each record, in any order of instants: %s', (_, conventions) => {
    const { service } = small({ ...conventions, windowTime: 'server' }, { branches: BRANCHES });
    const fromMs = at('2026-03-10T03:00:00Z');
    const hours = [0, 150, 149.9, 30, 150, 180, 151.2, 12];
    for (const nowMs of hours.map((hour) => fromMs + hour * 3_600_000)) {
      const records = branchRecords(service, 'lone', fromMs, nowMs, nowMs);
      const entered = records.reduce((total, record) => total + record.entered, 0);
      const exited = records.reduce((total, record) => total + record.exited, 0);
      expect(service.served('lone', fromMs, nowMs)).toMatchObject({ entered, exited });
      const branches = [...service.breakdownTotals('lone', 'branch', fromMs, nowMs).values()];
      expect(branches.reduce((total, branch) => total + branch.entered, 0)).toBe(entered);
      expect(branches.reduce((total, branch) => total + branch.exited, 0)).toBe(exited);
    }
    expect(service.served('lone', fromMs, fromMs + 180 * 3_600_000).entered).toBeGreaterThan(100);
  });

  test('depend on the time of the event and of the arrival', () => {
    const { service } = silent({ deviceClocks: { share: 1, aheadMs: 3_600_000 } });
    const atMs = at('2026-03-18T10:00:00Z');
    service.record('lone', { kind: 'in', atMs, arrivesMs: atMs + 60_000, amount: 4 });
    service.record('lone', { kind: 'out', atMs: atMs + 60_000, arrivesMs: NOW_MS + 1 });
    service.record('lone', { kind: 'login', atMs });
    const totals = { entered: 4, exited: 0, logins: 1 };
    expect(service.groundTruth('lone', atMs)).toEqual({ ...totals, served: totals });
    const nothing = { entered: 0, exited: 0, logins: 0 };
    expect(service.groundTruth('lone', atMs + 1)).toEqual({ ...nothing, served: totals });
    expect(service.groundTruth('lone', atMs, atMs + 59_999).entered).toBe(0);
    expect(service.groundTruth('lone', atMs, NOW_MS + 1).exited).toBe(1);
  });
});
