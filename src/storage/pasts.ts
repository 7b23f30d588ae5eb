/** The pasts of customers and their branches that the store has, and what has changed since. */
import { hasWindows, isUnread } from '../counting/branches/day.ts';
import { NO_BRANCHES } from '../counting/branches/plan.ts';
import type { BranchState } from '../counting/branches/plan.ts';
import type { BranchSites } from '../counting/branches/sites.ts';
import {
  restoreBranches,
  serializeDay,
  serializePasts,
} from '../counting/branches/stored-branches.ts';
import type { Customer } from '../counting/customer.ts';
import type { CountedDays } from '../counting/past/counted-days.ts';
import type { Past } from '../counting/past/past.ts';
import { parseStored, restorePast, serializePast } from '../counting/past/stored-past.ts';
import type { StoredDay } from './database.ts';
import type { DaySource, Store } from './store.ts';

const BRANCH_DAYS = 'branch';
const BRANCH_PASTS = 'branch past';

type Branches = Pick<BranchSites, 'state' | 'restore'>;

/** A customer whose past is stored. */
export type PastOwner = Pick<Customer, 'owner' | 'calendar' | 'streams' | 'streamOf'> & {
  readonly branches: Branches | undefined;
};

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
      if (!this.#stored.has(days)) {
        this.#stored.set(days, undefined);
        days.restoreFrom(() => {
          const [stored] = this.#store.daysOf(owner, stream);
          const past =
            stored && restorePast(calendar, stream, stored.dayStartMs, parseStored(stored.content));
          this.#stored.set(days, past);
          return past;
        });
      }
    }
    if (branches !== undefined && !this.#storedBranches.has(branches)) {
      const [pasts] = this.#store.daysOf(owner, BRANCH_PASTS);
      const days = this.#store.daysOf(owner, BRANCH_DAYS);
      branches.restore(restoreBranches(calendar, days, pasts));
      this.#storedBranches.set(branches, branches.state);
    }
  }

  *changedDays(all: boolean): Generator<StoredDay> {
    for (const customer of this.#customers()) {
      const { owner, calendar, streams, branches } = customer;
      for (const stream of streams) {
        const { days } = customer.streamOf(stream);
        const { known: past } = days;
        if (past !== undefined && (all || past !== this.#stored.get(days))) {
          this.#stored.set(days, past);
          yield rowOf(owner, stream, past, () => JSON.stringify(serializePast(calendar, past)));
        }
      }
      if (branches !== undefined) {
        const stored = all ? undefined : this.#storedBranches.get(branches);
        yield* changedBranches(customer, branches.state, stored ?? NO_BRANCHES);
        this.#storedBranches.set(branches, branches.state);
      }
    }
  }
}

/** Written in pieces: serializing the pasts of 10,000 customers would hold the event loop. */
function rowOf(
  owner: StoredDay['owner'],
  stream: string,
  { today }: Past,
  serialize: () => string,
): StoredDay {
  return {
    owner,
    stream,
    replaces: 'all days',
    dayStartMs: today.startMs,
    get content() {
      return serialize();
    },
  };
}

/** Yields the days and pasts that have changed. Windows are removed after the pasts are written that have them. */
function* changedBranches(
  { owner, calendar }: PastOwner,
  state: BranchState,
  stored: BranchState,
): Generator<StoredDay> {
  const { today, past, pasts } = state;
  const [first] = pasts.values();
  if (first !== undefined && pasts !== stored.pasts) {
    yield rowOf(owner, BRANCH_PASTS, first, () => serializePasts(calendar, state));
  }
  const known = new Set<unknown>([stored.today, ...stored.past]);
  const unfolded = past.filter(hasWindows);
  const isFolded = unfolded.length === 0;
  if (isFolded && past !== stored.past) {
    known.delete(today);
  }
  for (const branchDay of [...unfolded.filter((one) => !isUnread(one)), today]) {
    if (branchDay !== undefined && !known.has(branchDay)) {
      yield {
        owner,
        stream: BRANCH_DAYS,
        dayStartMs: branchDay.day.startMs,
        content: serializeDay(state, branchDay),
        ...(isFolded && { replaces: 'all days' }),
      };
    }
  }
}
