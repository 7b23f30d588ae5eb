/**
 * The turns in the order in which they fall due, so that a look at the clock costs what is due and not
 * what there is: a binary heap.
 */
import type { Turn } from './turn.ts';

export class DueTurns {
  readonly #heap: Turn[] = [];

  /** Those that were not polled yet are not in it: they are never due. */
  constructor(turns: readonly Turn[]) {
    turns.forEach((turn) => this.push(turn));
  }

  /** When the next one falls due; Infinity where there is none. */
  get nextMs(): number {
    return dueMsOf(this.#heap[0]);
  }

  /** When a turn that is in it falls due must not change. */
  push(turn: Turn): void {
    if (turn.dueMs === undefined) {
      return;
    }
    const heap = this.#heap;
    let at = heap.push(turn) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (dueMsOf(heap[above]) <= turn.dueMs) {
        break;
      }
      swap(heap, at, above);
      at = above;
    }
  }

  /** Takes out the turn that has waited longest, of those that are due by now. */
  take(nowMs: number): Turn | undefined {
    const heap = this.#heap;
    if (this.nextMs > nowMs) {
      return undefined;
    }
    swap(heap, 0, heap.length - 1);
    const first = heap.pop();
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      const below = dueMsOf(heap[right]) < dueMsOf(heap[left]) ? right : left;
      if (dueMsOf(heap[below]) >= dueMsOf(heap[at])) {
        return first;
      }
      swap(heap, at, below);
      at = below;
    }
  }
}

function dueMsOf(turn: Turn | undefined): number {
  return turn?.dueMs ?? Infinity;
}

function swap(heap: Turn[], a: number, b: number): void {
  const [first, second] = [heap[a], heap[b]];
  if (first !== undefined && second !== undefined) {
    heap[a] = second;
    heap[b] = first;
  }
}
