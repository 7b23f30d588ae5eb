import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DueTurns } from '../../src/polling/due-turns.ts';
import { Turn } from '../../src/polling/turn.ts';
import type { TurnOptions } from '../../src/polling/turn.ts';

function turnDueAt(dueMs: number | undefined): Turn {
  const turn = new Turn({ intervalMs: 60_000, phase: 0 } as TurnOptions);
  turn.dueMs = dueMs;
  return turn;
}

function takeAll(due: DueTurns, nowMs: number): (number | undefined)[] {
  const taken: (number | undefined)[] = [];
  for (let turn = due.take(nowMs); turn !== undefined; turn = due.take(nowMs)) {
    taken.push(turn.dueMs);
  }
  return taken;
}

test('turns come in the order in which they fall due, and none before', () => {
  fc.assert(
    fc.property(
      fc.array(fc.option(fc.nat({ max: 50 }), { nil: undefined })),
      fc.array(fc.nat({ max: 50 })),
      fc.nat({ max: 50 }),
      (first, later, nowMs) => {
        const due = new DueTurns(first.map(turnDueAt));
        later.forEach((dueMs) => due.push(turnDueAt(dueMs)));
        const all = [...first, ...later]
          .filter((dueMs) => dueMs !== undefined)
          .toSorted((a, b) => a - b);
        expect(takeAll(due, nowMs)).toEqual(all.filter((dueMs) => dueMs <= nowMs));
        expect(due.nextMs).toBe(all.find((dueMs) => dueMs > nowMs) ?? Infinity);
        expect(takeAll(due, 50)).toEqual(all.filter((dueMs) => dueMs > nowMs));
        expect(due.nextMs).toBe(Infinity);
      },
    ),
  );
});
