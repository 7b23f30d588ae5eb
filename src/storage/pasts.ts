/** The past of each stream that the store has, and what has changed since. */
import type { Customer } from '../counting/customer.ts';
import type { CountedDays } from '../counting/past/counted-days.ts';
import type { Past } from '../counting/past/past.ts';
import { parseStored, restorePast, serializePast } from '../counting/past/stored-past.ts';
import type { StoredDay } from './database.ts';
import type { DaySource, Store } from './store.ts';

/** A customer whose past is stored. */
export type PastOwner = Pick<Customer, 'owner' | 'calendar' | 'streams' | 'streamOf'>;

export class Pasts implements DaySource {
  readonly #store: Pick<Store, 'daysOf'>;
  readonly #customers: () => readonly PastOwner[];
  /** What the store has, or will have at its next write. */
  readonly #stored = new WeakMap<CountedDays, Past | undefined>();

  constructor(store: Pick<Store, 'daysOf'>, customers: () => readonly PastOwner[]) {
    this.#store = store;
    this.#customers = customers;
  }

  /** Gives the streams of a customer what was stored, once. It is read when the stream is counted first. */
  restore(customer: PastOwner): void {
    const { owner, calendar, streams } = customer;
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
  }

  *changedDays(all: boolean): Generator<StoredDay> {
    for (const customer of this.#customers()) {
      const { owner, calendar, streams } = customer;
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
    }
  }
}
