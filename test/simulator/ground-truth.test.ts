import { expect, test } from 'vitest';
import { NOW_MS, at, silent } from './support.ts';

test('totals depend on the time of the event and of the arrival', () => {
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
