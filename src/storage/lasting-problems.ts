/** The problems that last, which a restart could not find again: what has become usual since is missed no more. */
import type { Customer } from '../counting/customer.ts';
import { PROBLEM_KINDS } from '../counting/problems.ts';
import type { Problem, RememberedProblems } from '../counting/problems.ts';
import type { StoredDay } from './database.ts';
import type { DaySource, Store } from './store.ts';

const STREAM = 'problems';
const NONE = '[]';

/** A customer whose problems are stored. */
export type ProblemOwner = Pick<
  Customer,
  'owner' | 'calendar' | 'rememberedProblems' | 'restoreProblems'
>;

export class LastingProblems implements DaySource {
  readonly #store: Pick<Store, 'daysOf'>;
  readonly #customers: () => readonly ProblemOwner[];
  readonly #nowMs: () => number;
  /** What the store has, or will have at its next write. */
  readonly #stored = new WeakMap<ProblemOwner, Pick<StoredDay, 'dayStartMs' | 'content'>>();

  constructor(
    store: Pick<Store, 'daysOf'>,
    customers: () => readonly ProblemOwner[],
    nowMs: () => number,
  ) {
    this.#store = store;
    this.#customers = customers;
    this.#nowMs = nowMs;
  }

  /** Gives a customer what was stored, once. */
  restore(customer: ProblemOwner): void {
    if (!this.#stored.has(customer)) {
      const [stored = { dayStartMs: 0, content: NONE }] = this.#store.daysOf(
        customer.owner,
        STREAM,
      );
      this.#stored.set(customer, stored);
      customer.restoreProblems(parseProblems(stored.content));
    }
  }

  /** One row for each customer with a problem, of the day on which it was written: old rows are removed. */
  *changedDays(all: boolean): Generator<StoredDay> {
    const nowMs = this.#nowMs();
    for (const customer of this.#customers()) {
      const problems = customer.rememberedProblems;
      const content = problems.size === 0 ? NONE : JSON.stringify([...problems]);
      const stored = this.#stored.get(customer);
      const { startMs: dayStartMs } = customer.calendar.dayAt(nowMs);
      const isStored =
        content === (stored?.content ?? NONE) &&
        (content === NONE || dayStartMs === stored?.dayStartMs);
      if (isStored && (!all || content === NONE)) {
        continue;
      }
      this.#stored.set(customer, { dayStartMs, content });
      yield { owner: customer.owner, stream: STREAM, replaces: 'all days', dayStartMs, content };
    }
  }
}

/** Returns the valid problems by branch. */
function parseProblems(content: string): RememberedProblems {
  return new Map(
    arrayOf(parse(content)).map((entry) => {
      const [branch, problems] = arrayOf(entry);
      return [typeof branch === 'string' ? branch : null, arrayOf(problems).filter(isProblem)];
    }),
  );
}

function isProblem(value: unknown): value is Problem {
  const { kind, sinceMs, missed = 0 } = Object(value) as Readonly<Record<string, unknown>>;
  return (
    PROBLEM_KINDS.some((one) => one === kind) &&
    Number.isSafeInteger(sinceMs) &&
    Number.isSafeInteger(missed) &&
    Number(missed) >= 0
  );
}

function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function parse(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}
