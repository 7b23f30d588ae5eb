/** The days of branches that the store has, and those that have changed since. */
import type { CounterOwner } from '../counting/high-water-marks.ts';
import { serializeDay } from '../counting/branches/day.ts';
import { NO_BRANCHES, restoreBranches } from '../counting/branches/plan.ts';
import type { BranchState } from '../counting/branches/plan.ts';
import type { StoredDay } from './database.ts';
import type { DaySource, Store } from './store.ts';

const STREAM = 'branch';

/** A customer whose branches may be stored. */
export interface StoredCustomer {
  readonly owner: CounterOwner;
  /** Undefined for a customer that is one building. */
  readonly branches: Branches | undefined;
}

interface Branches {
  readonly state: BranchState;
  restore(state: BranchState): void;
}

export class BranchDays implements DaySource {
  readonly #store: Pick<Store, 'daysOf'>;
  readonly #customers: () => readonly StoredCustomer[];
  /** What the store has, or will have at its next write. */
  readonly #stored = new WeakMap<Branches, BranchState>();

  constructor(store: Pick<Store, 'daysOf'>, customers: () => readonly StoredCustomer[]) {
    this.#store = store;
    this.#customers = customers;
  }

  /** Gives a customer's branches what was stored, once. */
  restore({ owner, branches }: StoredCustomer): void {
    if (branches !== undefined && !this.#stored.has(branches)) {
      branches.restore(restoreBranches(this.#store.daysOf(owner, STREAM)));
      this.#stored.set(branches, branches.state);
    }
  }

  *changedDays(all: boolean): Generator<StoredDay> {
    for (const { owner, branches } of this.#customers()) {
      if (branches === undefined) {
        continue;
      }
      const { state } = branches;
      const stored = (all ? undefined : this.#stored.get(branches)) ?? NO_BRANCHES;
      this.#stored.set(branches, state);
      const before = new Set([stored.today, ...stored.past].map((day) => day?.sums));
      for (const branchDay of [state.today, ...state.past]) {
        if (branchDay !== undefined && branchDay.sums.length > 0 && !before.has(branchDay.sums)) {
          yield { owner, stream: STREAM, ...serializeDay(state.keys, branchDay) };
        }
      }
    }
  }
}
