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
import type { Counts, CountsByKey } from '../rows/counts.ts';
import { accept, NOTHING_PENDING } from '../totals/accept.ts';
import type { ConfirmationContext, Pending } from '../totals/accept.ts';
import { acceptedValues } from '../totals/state.ts';
import type { PollClocks, PollNote, PollResult } from '../totals/state.ts';
import { readLarger, WindowReader } from '../rows/window-reader.ts';
import type { Query } from '../rows/window-reader.ts';

export interface AcceptedByKey {
  readonly totals: CountsByKey;
  readonly atMs: number;
}

/** The accepted values of one poll: of each exported key, in their order, also of those no longer listed. */
export interface BreakdownSnapshot extends AcceptedByKey {
  readonly period: CountingPeriod;
  readonly day: Span;
  /** The service's counts since the day started. */
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
  readonly clocks: Pick<PollClocks, 'nowMs'>;
  /** The high-water marks of the period, of this process and before it. */
  readonly marks: AcceptedByKey | undefined;
  /** Keys that counted in the period before: exported as 0 until they count in this one. */
  readonly keysOfLastPeriod: readonly string[];
}

export interface BreakdownOutcome {
  readonly state: BreakdownState;
  readonly result: Extract<PollResult, 'accepted' | 'pending'>;
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
  const { breakdown, calendar, clocks, period, marks } = context;
  const reader = new WindowReader({
    query,
    stream: 'people',
    zone: calendar.zone,
    nowMs: () => clocks.nowMs(),
  });
  const day = calendar.dayAt(clocks.nowMs());
  const accepted = acceptedValues(state, period, day);
  const expected = accepted.totals ?? marks?.totals;
  const totals = await readLargerByKey(reader, breakdown, period.startMs, expected);
  const today = await readLargerByKey(reader, breakdown, day.startMs, accepted.today);
  const snapshot = createSnapshot(context, { totals, today, day, atMs: clocks.nowMs() });
  const known = { snapshot: state.snapshot, marks };
  const verdict = accept(state.pending, known, snapshot, context);
  if (verdict.kind === 'pending') {
    return {
      state: { ...state, pending: verdict.pending },
      result: 'pending',
      notes: [verdict.note],
    };
  }
  const dropsFirstKeys = snapshot.droppedKeys > 0 && (state.snapshot?.droppedKeys ?? 0) === 0;
  return {
    state: { snapshot, pending: NOTHING_PENDING },
    result: 'accepted',
    notes: dropsFirstKeys ? ['breakdown_keys_dropped'] : [],
  };
}

/** Returns the values of a poll, with the keys that are exported. */
function createSnapshot(
  { period, marks, keysOfLastPeriod }: BreakdownContext,
  { totals, today, ...read }: Pick<BreakdownSnapshot, 'totals' | 'today' | 'day' | 'atMs'>,
): BreakdownSnapshot {
  const keys = exportedKeys([...(marks?.totals.keys() ?? [])], keysOfLastPeriod, [
    ...totals.keys(),
  ]);
  return {
    ...read,
    period,
    totals: selectKeys(totals, keys),
    today: selectKeys(today, keys),
    droppedKeys: [...totals.keys()].filter((key) => !keys.has(key)).length,
  };
}

/** Rule 3: requested again if any key has fewer counts than expected. */
async function readLargerByKey(
  reader: WindowReader,
  breakdown: Breakdown,
  fromMs: number,
  expected: CountsByKey = new Map(),
): Promise<CountsByKey> {
  return readLarger(
    () => readByKey(reader, breakdown, fromMs),
    (table) => anyKeyBelow(table, expected),
    (table) => grandTotal(sumOf(table)),
  );
}

/** Returns one response as a table. Throws a ServiceError if another aggregation was forced. */
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

/** Returns the counts of a key: one that is not listed has no counts. */
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

function sumOf(table: CountsByKey): Counts {
  return [...table.values()].reduce(plus, NO_COUNTS);
}

/** Sorts two different keys: whole numbers by their value, then the rest as text. */
export function compareKeys(a: string, b: string): number {
  const [isNumberA, isNumberB] = [WHOLE_NUMBER.test(a), WHOLE_NUMBER.test(b)];
  if (isNumberA !== isNumberB) {
    return isNumberA ? -1 : 1;
  }
  const difference = isNumberA ? Number(a) - Number(b) : 0;
  return difference || (a < b ? -1 : 1);
}
