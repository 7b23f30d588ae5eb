/** The pasts of customers and their branches that the store has, and what has changed since. */
import type { BranchSites } from '../counting/branches/sites.ts';
import { NO_BRANCHES } from '../counting/branches/plan.ts';
import type { BranchState } from '../counting/branches/plan.ts';
import type { Customer } from '../counting/customer.ts';
import type { CountedDays } from '../counting/past/counted-days.ts';
import type { Past } from '../counting/past/past.ts';
import { parseStored, restorePast, serializePast } from '../counting/past/stored-past.ts';
import { changedRows, restoreBranches } from './branch-days.ts';
import type { StoredDay } from './database.ts';
import type { DaySource, Store } from './store.ts';

type Branches = Pick<BranchSites, 'state' | 'restore'>;

/** A customer whose past is stored. */
export interface PastOwner extends Pick<Customer, 'owner' | 'calendar' | 'streams' | 'streamOf'> {
  /** Undefined for a customer that is one building. */
  readonly branches: Branches | undefined;
}

export class Pasts implements DaySource {
  readonly #store: Pick<Store, 'daysOf'>;
  readonly #customers: () => readonly PastOwner[];
  /** What the store has, or will have at its next write. */
  readonly #stored = new WeakMap<CountedDays, Past | undefined>();
  readonly #storedBranches = new WeakMap<Branches, BranchState>();

  constructor(store: Pick<Store, 'daysOf'>, customers: () => readonly PastOwner[]) {
    this.#store = store;
    this.#customers = customers;
  }

  /** Gives a customer what was stored, once. That of a stream is read when the stream is counted first. */
  restore(customer: PastOwner): void {
    const { owner, calendar, streams, branches } = customer;
    for (const stream of streams) {
      const { days } = customer.streamOf(stream);
      if (this.#stored.has(days)) {
        continue;
      }
      this.#stored.set(days, undefined);
      days.restoreFrom(() => {
        const [stored] = this.#store.daysOf(owner, stream);
        const past =
          stored && restorePast(calendar, stream, stored.dayStartMs, parseStored(stored.content));
        this.#stored.set(days, past);
        return past;
      });
    }
    if (branches !== undefined && !this.#storedBranches.has(branches)) {
      branches.restore(restoreBranches(calendar, (stream) => this.#store.daysOf(owner, stream)));
      this.#storedBranches.set(branches, branches.state);
    }
  }

  *changedDays(all: boolean): Generator<StoredDay> {
    for (const customer of this.#customers()) {
      const { owner, calendar, streams, branches } = customer;
      for (const stream of streams) {
        const { days } = customer.streamOf(stream);
        const { known: past } = days;
        if (past === undefined || (!all && past === this.#stored.get(days))) {
          continue;
        }
        this.#stored.set(days, past);
        yield {
          owner,
          stream,
          replaces: 'all days',
          dayStartMs: past.today.startMs,
          // Written in pieces: serializing all of 10,000 customers would hold the event loop.
          get content() {
            return JSON.stringify(serializePast(calendar, past));
          },
        };
      }
      if (branches !== undefined) {
        const stored = all ? undefined : this.#storedBranches.get(branches);
        yield* changedRows(owner, calendar, branches.state, stored ?? NO_BRANCHES);
        this.#storedBranches.set(branches, branches.state);
      }
    }
  }
}
