/** What a restart must know of customers beside their days: one small row each. */
import type { Customer } from '../counting/customer.ts';
import type { StoredDay } from './database.ts';
import type { DaySource, Store } from './store.ts';

/** One kind of rows. */
export interface RowKind {
  readonly stream: string;
  /** Returns JSON; {@link NOTHING} for a customer without a row. Called at each write. */
  serialize(customer: Customer): string;
  /** Takes what was stored, which may be damaged. */
  restore(customer: Customer, content: string): void;
}

export const NOTHING = '[]';

export class DailyRows implements DaySource {
  readonly #kind: RowKind;
  readonly #store: Pick<Store, 'daysOf'>;
  readonly #customers: () => readonly Customer[];
  readonly #nowMs: () => number;
  /** What the store has, or will have at its next write. */
  readonly #stored = new WeakMap<Customer, Pick<StoredDay, 'dayStartMs' | 'content'>>();

  constructor(
    kind: RowKind,
    store: Pick<Store, 'daysOf'>,
    customers: () => readonly Customer[],
    nowMs: () => number,
  ) {
    this.#kind = kind;
    this.#store = store;
    this.#customers = customers;
    this.#nowMs = nowMs;
  }

  /** Gives a customer what was stored, once. */
  restore(customer: Customer): void {
    if (!this.#stored.has(customer)) {
      const [stored = { dayStartMs: 0, content: NOTHING }] = this.#store.daysOf(
        customer.owner,
        this.#kind.stream,
      );
      this.#stored.set(customer, stored);
      this.#kind.restore(customer, stored.content);
    }
  }

  /** A row is of the day on which it was written, and written again the next day: old rows are removed. */
  *changedDays(all: boolean): Generator<StoredDay> {
    const nowMs = this.#nowMs();
    const { stream } = this.#kind;
    for (const customer of this.#customers()) {
      const content = this.#kind.serialize(customer);
      const stored = this.#stored.get(customer);
      const { startMs: dayStartMs } = customer.calendar.dayAt(nowMs);
      const isStored =
        content === (stored?.content ?? NOTHING) &&
        (content === NOTHING || dayStartMs === stored?.dayStartMs);
      if (isStored && (!all || content === NOTHING)) {
        continue;
      }
      this.#stored.set(customer, { dayStartMs, content });
      yield { owner: customer.owner, stream, replaces: 'all days', dayStartMs, content };
    }
  }
}

/** Returns the elements of an array in JSON; none of anything else. */
export function parseArray(content: string): readonly unknown[] {
  try {
    return arrayOf(JSON.parse(content));
  } catch {
    return [];
  }
}

/** Returns an array as it is; an empty one for anything else. */
export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
