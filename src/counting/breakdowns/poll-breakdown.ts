/**
 * One poll of a breakdown: people by branch, client or device (rule 10). The service cannot combine
 * these with minutes, so each poll requests the totals since the period started and those since the
 * day started. A poll that fails changes nothing.
 */
import { ServiceError } from '../../base/errors.ts';
import { COUNTERS } from '../../base/model.ts';
import type { Breakdown, Row } from '../../base/model.ts';
import type { Calendar, CountingPeriod, Span } from '../calendar/calendar.ts';
import { anyBelow, grandTotal, plus } from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';
import { checkPlausibility, emptinessOf, NOTHING_PENDING } from '../totals/plausibility.ts';
import type { ConfirmationContext, Pending } from '../totals/plausibility.ts';
import type { PollNote } from '../totals/state.ts';
import { readLarger, WindowReader } from '../rows/window-reader.ts';
import type { Query } from '../rows/window-reader.ts';

/** A key is the label value of a series and has an order; that is all. */
export type CountsByKey = ReadonlyMap<string, Counts>;

export interface AcceptedByKey {
  readonly totals: CountsByKey;
  readonly atMs: number;
}

/** The accepted values of one poll: of each exported key, in their order, also of those no longer listed. */
export interface BreakdownSnapshot extends AcceptedByKey {
  readonly period: CountingPeriod;
  readonly day: Span;
  /** The service's figures since the day started. */
  readonly today: CountsByKey;
  /** Number of keys above the limit. */
  readonly droppedKeys: number;
}

export interface BreakdownState {
  readonly snapshot: BreakdownSnapshot | undefined;
  readonly pending: Pending;
}

export const INITIAL_BREAKDOWN: BreakdownState = { snapshot: undefined, pending: NOTHING_PENDING };

export interface BreakdownContext extends ConfirmationContext {
  readonly breakdown: Breakdown;
  readonly calendar: Calendar;
  readonly period: CountingPeriod;
  readonly nowMs: () => number;
  /** The high-water marks of the period, of this process and before it. */
  readonly marks: AcceptedByKey | undefined;
  /** Keys that counted in the period before: exported as 0 until they count in this one. */
  readonly keysOfLastPeriod: readonly string[];
}

export interface BreakdownOutcome {
  readonly state: BreakdownState;
  /** Whether the values of this poll are exported; else the previous ones stay until it is confirmed. */
  readonly accepted: boolean;
  readonly notes: readonly PollNote[];
}

/** Exported keys of one breakdown of a customer. */
export const MAX_KEYS = 1000;

const WHOLE_NUMBER = /^\d{1,15}$/;
const NO_COUNTS: Counts = COUNTERS.people.map(() => 0);

/** Polls a breakdown once. Rejects with a ServiceError if a response is missing or malformed. */
export async function pollBreakdown(
  state: BreakdownState,
  context: BreakdownContext,
  query: Query,
): Promise<BreakdownOutcome> {
  const { breakdown, calendar, period, nowMs, marks } = context;
  const reader = new WindowReader({ query, stream: 'people', zone: calendar.zone, nowMs });
  const day = calendar.dayAt(nowMs());
  const before = state.snapshot;
  const last = before?.period.startMs === period.startMs ? before : undefined;
  const todayBefore = before?.day.startMs === day.startMs ? before.today : undefined;
  const marked = marks?.totals ?? new Map<string, Counts>();
  const totals = await readLargerByKey(reader, breakdown, period.startMs, last?.totals ?? marked);
  const today = await readLargerByKey(reader, breakdown, day.startMs, todayBefore ?? new Map());
  const keys = exportedKeys([...marked.keys()], context.keysOfLastPeriod, [...totals.keys()]);
  const droppedKeys = [...totals.keys()].filter((key) => !keys.has(key)).length;
  const exported = { totals: selectKeys(totals, keys), today: selectKeys(today, keys) };
  const flat = flatCounts(exported.totals);
  const verdict = await checkPlausibility(
    state.pending,
    {
      emptiness: emptinessOf(
        { totals: flat, today: flatCounts(exported.today) },
        { totals: last && flatCounts(last.totals), today: todayBefore && flatCounts(todayBefore) },
        before === undefined && marks === undefined,
      ),
      // Each key is compared with its own mark, which it would keep until the period ends.
      before: {
        totals: flatCounts(selectKeys(marked, keys)),
        atMs: last?.atMs ?? marks?.atMs ?? period.startMs,
      },
      totals: flat,
      sum: grandTotal(sumOf(exported.totals)),
      atMs: nowMs(),
      periodStartMs: period.startMs,
    },
    context,
    async () => grandTotal((await reader.read('day', period.startMs)).sums),
  );
  if (verdict.kind === 'pending') {
    return {
      state: { ...state, pending: verdict.pending },
      accepted: false,
      notes: [verdict.note],
    };
  }
  const snapshot = { ...exported, period, day, atMs: nowMs(), droppedKeys };
  return {
    state: { snapshot, pending: NOTHING_PENDING },
    accepted: true,
    notes: droppedKeys > 0 && (before?.droppedKeys ?? 0) === 0 ? ['breakdown_keys_dropped'] : [],
  };
}

/** Rule 3: requested again if any key has fewer counts than expected. */
async function readLargerByKey(
  reader: WindowReader,
  breakdown: Breakdown,
  fromMs: number,
  expected: CountsByKey,
): Promise<CountsByKey> {
  return readLarger(
    () => readByKey(reader, breakdown, fromMs),
    (table) => anyKeyBelow(table, expected),
    (table) => grandTotal(sumOf(table)),
  );
}

/** One response as a table. Throws a ServiceError if another aggregation was forced. */
export async function readByKey(
  reader: WindowReader,
  breakdown: Breakdown,
  fromMs: number,
  toMs?: number,
): Promise<CountsByKey> {
  const { aggregation, rows } = await reader.read(breakdown, fromMs, toMs);
  if (aggregation !== breakdown) {
    // The other name is the service's text and is not repeated.
    throw new ServiceError(
      'malformed',
      `expected aggregation "${breakdown}", got another one; ` +
        'above 1 MB the service forces one, and then there is no breakdown',
    );
  }
  return byKey(rows);
}

/** Keys already exported in this period come first, so that a restart does not change them. */
function exportedKeys(
  marked: readonly string[],
  ofLastPeriod: readonly string[],
  listed: readonly string[],
): ReadonlySet<string> {
  const byPriority = [marked, ofLastPeriod, listed].flatMap((keys) => keys.toSorted(compareKeys));
  return new Set([...new Set(byPriority)].slice(0, MAX_KEYS).toSorted(compareKeys));
}

/** Rows with the same key are added up; 101 and "101" are the same key. */
function byKey(rows: readonly Row[]): CountsByKey {
  const table = new Map<string, Counts>();
  for (const { key, counts } of rows) {
    // Lone surrogates would all be written as the same character: two series with one label.
    const text = String(key).toWellFormed();
    const before = table.get(text);
    table.set(text, before === undefined ? counts : plus(before, counts));
  }
  return table;
}

/** A key that is not listed has no counts. */
export function countsOf(table: CountsByKey, key: string): Counts {
  return table.get(key) ?? NO_COUNTS;
}

/** Returns the counts of these keys, in their order. */
function selectKeys(table: CountsByKey, keys: ReadonlySet<string>): CountsByKey {
  return new Map(Array.from(keys, (key) => [key, countsOf(table, key)]));
}

function anyKeyBelow(table: CountsByKey, expected: CountsByKey): boolean {
  return [...expected].some(([key, counts]) => anyBelow(countsOf(table, key), counts));
}

/** The counts of all keys in a row, and their sums at the end: many small increases show there. */
function flatCounts(table: CountsByKey): Counts {
  return [...[...table.values()].flat(), ...sumOf(table)];
}

function sumOf(table: CountsByKey): Counts {
  return [...table.values()].reduce(plus, NO_COUNTS);
}

/** Whole numbers by their value, then the rest as text. */
export function compareKeys(a: string, b: string): number {
  const [isNumberA, isNumberB] = [WHOLE_NUMBER.test(a), WHOLE_NUMBER.test(b)];
  if (isNumberA !== isNumberB) {
    return isNumberA ? -1 : 1;
  }
  const difference = isNumberA ? Number(a) - Number(b) : 0;
  return difference || (a < b ? -1 : Number(a > b));
}
