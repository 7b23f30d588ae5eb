/**
 * What the store has of branches, and what has changed since: a row for today, and one for each past day whose
 * windows are not folded yet; and one row with the pasts of a customer's branches and the sums of their days.
 */
import { COUNTERS } from '../base/model.ts';
import type { Calendar, Span } from '../counting/calendar/calendar.ts';
import type { CounterOwner } from '../counting/high-water-marks.ts';
import {
  addKeys,
  hasWindows,
  isUnread,
  NO_SUMS,
  PAST_WINDOW_MS,
  WINDOW_MS,
  windowsOf,
} from '../counting/branches/day.ts';
import type { BranchDay, FoldedDay } from '../counting/branches/day.ts';
import { NO_BRANCHES } from '../counting/branches/plan.ts';
import type { BranchState } from '../counting/branches/plan.ts';
import { daysBefore } from '../counting/past/past.ts';
import type { Past } from '../counting/past/past.ts';
import { parseStored, restorePast, serializePast } from '../counting/past/stored-past.ts';
import type { Counts } from '../counting/rows/counts.ts';
import { smallest } from '../counting/rows/day-counts.ts';
import type { StoredDay } from './database.ts';
import type { DaySource, Store } from './store.ts';

const DAYS = 'branch';
const PASTS = 'branch past';

/** A customer whose branches may be stored. */
export interface StoredCustomer {
  readonly owner: CounterOwner;
  readonly calendar: Calendar;
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
  restore({ owner, calendar, branches }: StoredCustomer): void {
    if (branches !== undefined && !this.#stored.has(branches)) {
      const [pasts] = this.#store.daysOf(owner, PASTS);
      branches.restore(restoreBranches(calendar, this.#store.daysOf(owner, DAYS), pasts));
      this.#stored.set(branches, branches.state);
    }
  }

  *changedDays(all: boolean): Generator<StoredDay> {
    for (const { owner, calendar, branches } of this.#customers()) {
      if (branches !== undefined) {
        const { state } = branches;
        const stored = (all ? undefined : this.#stored.get(branches)) ?? NO_BRANCHES;
        this.#stored.set(branches, state);
        for (const row of changedRows(calendar, state, stored)) {
          yield { owner, ...row };
        }
      }
    }
  }
}

type Row = Omit<StoredDay, 'owner'>;

/** Yields the rows of a state that have changed. Windows are removed after the pasts are written that have them. */
function* changedRows(
  calendar: Calendar,
  { keys, today, past, pasts }: BranchState,
  stored: BranchState,
): Generator<Row> {
  const [first] = pasts.values();
  if (first !== undefined && pasts !== stored.pasts) {
    yield {
      stream: PASTS,
      replaces: 'all days',
      dayStartMs: first.today.startMs,
      // Written in pieces: serializing those of 1,000 customers would hold the event loop.
      get content() {
        return serializePasts(calendar, past, pasts);
      },
    };
  }
  const known = new Set<unknown>([stored.today, ...stored.past]);
  const unfolded = past.filter(hasWindows);
  for (const day of unfolded) {
    if (!isUnread(day) && !known.has(day)) {
      yield serializeDay(keys, day);
    }
  }
  const isFolded = unfolded.length === 0;
  if (today !== undefined && (!known.has(today) || (isFolded && past !== stored.past))) {
    yield { ...serializeDay(keys, today), ...(isFolded && { replaces: 'all days' }) };
  }
}

/** In place of sums, null stands for those of the window before. */
function serializeDay(keys: readonly string[], { day, stepMs, sums, customer }: BranchDay): Row {
  const ends = sums.map((ofEnd, i) => (ofEnd === (sums[i - 1] ?? NO_SUMS) ? null : [...ofEnd]));
  const content = { end_ms: day.endMs, window_ms: stepMs, keys, customer, sums: ends };
  return { stream: DAYS, dayStartMs: day.startMs, content: JSON.stringify(content) };
}

function serializePasts(
  calendar: Calendar,
  past: BranchState['past'],
  pasts: BranchState['pasts'],
): string {
  const days = past
    .filter((one) => !hasWindows(one))
    .map(({ day, stepMs, customer }) => [day.startMs, day.endMs, stepMs, customer]);
  const branches = Array.from(pasts, ([key, ofKey]) => [key, serializePast(calendar, ofKey)]);
  return JSON.stringify({ days, branches });
}

/** What a row of the store has. */
type StoredContent = Pick<StoredDay, 'dayStartMs' | 'content'>;

/** Returns the state of what was stored, newest days first. Left out is what is invalid, or of other days. */
function restoreBranches(
  calendar: Calendar,
  stored: readonly StoredContent[],
  storedPasts: StoredContent | undefined,
): BranchState {
  const { folded, pasts } = restorePasts(calendar, storedPasts);
  const restored = stored
    .map((one) => restoreDay(calendar, one))
    .filter((one) => one !== undefined);
  const [keys = []] = restored.map((one) => one.keys).toSorted((a, b) => b.length - a.length);
  const days = restored
    .filter((one) => one.keys.every((key, i) => key === keys[i]))
    .map(({ branchDay }) => branchDay);
  return { ...NO_BRANCHES, keys: addKeys(keys, pasts), past: [...days, ...folded], pasts };
}

function restoreDay(calendar: Calendar, { dayStartMs, content }: StoredContent) {
  const { end_ms: endMs, window_ms: stepMs, keys, customer, sums } = parseStored(content);
  const span = calendar.dayAt(dayStartMs);
  const day = restoreFolded([span], [dayStartMs, endMs, stepMs, customer]);
  if (day === undefined || !areKeys(keys) || !Array.isArray(sums)) {
    return undefined;
  }
  const restored = [NO_SUMS];
  for (const ofEnd of sums as readonly unknown[]) {
    if (ofEnd !== null && (!areIntegers(ofEnd) || ofEnd.some((sum) => sum < 0))) {
      return undefined;
    }
    restored.push(
      ofEnd === null ? (restored.at(-1) ?? NO_SUMS) : smallest(Float64Array.from(ofEnd)),
    );
  }
  const branchDay: BranchDay = { ...day, sums: restored.slice(1) };
  return sums.length <= windowsOf(branchDay) ? { keys, branchDay } : undefined;
}

function restorePasts(calendar: Calendar, stored: StoredContent | undefined) {
  const none = { folded: [], pasts: NO_BRANCHES.pasts };
  if (stored === undefined) {
    return none;
  }
  const { days, branches } = parseStored(stored.content);
  const pasts = new Map<string, Past>();
  for (const one of membersOf(branches)) {
    const [key, content] = membersOf(one);
    const past = restorePast(calendar, 'people', stored.dayStartMs, content);
    if (typeof key !== 'string' || past === undefined) {
      return none;
    }
    pasts.set(key, past);
  }
  const spans = daysBefore(calendar, calendar.dayAt(stored.dayStartMs));
  const folded = membersOf(days).map((one) => restoreFolded(spans, membersOf(one)));
  return { folded: folded.filter((one) => one !== undefined), pasts };
}

/** Returns a day without its windows; undefined if it is invalid, or none of the expected ones. */
function restoreFolded(
  expected: readonly Span[],
  [startMs, endMs, stepMs, customer]: readonly unknown[],
): FoldedDay | undefined {
  const day = expected.find((one) => one.startMs === startMs && one.endMs === endMs);
  return day !== undefined &&
    (stepMs === WINDOW_MS || stepMs === PAST_WINDOW_MS) &&
    areIntegers(customer) &&
    customer.length === COUNTERS.people.length
    ? { day, stepMs, customer }
    : undefined;
}

function membersOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function areIntegers(value: unknown): value is Counts {
  return Array.isArray(value) && value.every((number) => Number.isSafeInteger(number));
}

function areKeys(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.every((key) => typeof key === 'string') &&
    new Set(value).size === value.length
  );
}
