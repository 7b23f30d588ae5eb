import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const PROGRAM = fileURLToPath(new URL('programs/heap.ts', import.meta.url));

interface Heap {
  readonly before: number;
  readonly settled: number;
  readonly most: number;
}

/** With so small a young generation, nearly all of the heap is what lasts. */
function heapOf(...args: readonly string[]): Heap {
  const flags = ['--max-semi-space-size=1', PROGRAM, ...args];
  return JSON.parse(execFileSync(process.execPath, flags, { encoding: 'utf8' })) as Heap;
}

test('a heap that is settled has no room for what is gone, and grows by little', () => {
  const settled = heapOf('settled');
  const left = heapOf();
  expect(settled.settled).toBeLessThan(settled.before / 3);
  // A page or two may come meanwhile.
  expect(left.settled).toBeGreaterThanOrEqual(left.before);
  // What is in use is that after settling.
  expect(settled.most).toBeLessThan(4 * settled.settled);
  expect(left.most).toBeGreaterThan(8 * settled.settled);
});
