/**
 * The total since the period started, by the coarsest aggregation that agrees with `minute` (rule 4):
 * `day` in one request, else `quarter` in one, else `minute` in chunks that the service does not
 * force into another aggregation.
 */
import { DAY_MS } from '../../base/duration.ts';
import { anyBelow, countOf, minus } from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';
import { isForced, readChunks } from '../rows/window-reader.ts';
import type { Chunk, WindowReader } from '../rows/window-reader.ts';

export type TotalAggregation = 'day' | 'quarter' | 'minute';

/** What totals are read by. */
export type TotalSource =
  | { readonly kind: 'unverified'; readonly aggregation: 'day' | 'quarter' }
  /** It agreed with minutes that had just counted somebody. */
  | { readonly kind: 'verified'; readonly aggregation: 'day' | 'quarter' }
  /** Minutes need no verification: they are what the others are compared with. */
  | { readonly kind: 'minutes'; readonly aggregation: 'minute' };

export const BY_DAY: TotalSource = { kind: 'unverified', aggregation: 'day' };

/**
 * Returns what the total was really read by. The service may force another aggregation for a whole
 * period than for a day: compared in two aggregations, the two would never agree.
 */
export function answeredSource(requested: TotalSource, aggregation: string): TotalSource {
  return aggregation !== requested.aggregation &&
    (aggregation === 'day' || aggregation === 'quarter')
    ? { kind: 'unverified', aggregation }
    : requested;
}

/**
 * Whether an aggregation has the counts of another one, which gives at least `atLeast` and at most
 * `atMost`: what came meanwhile, or days at the edges, may be in one of them alone.
 */
export function areConsistent(counts: Counts, atLeast: Counts, atMost: Counts): boolean {
  return !anyBelow(counts, atLeast) && !anyBelow(atMost, counts);
}

/** Returns the sum of everything from `fromMs` on, by minute. */
export async function totalByMinute(reader: WindowReader, fromMs: number): Promise<Counts> {
  const whole = await reader.read('minute', fromMs);
  const chunks = await readChunks(
    whole,
    (startMs, toMs) => reader.read('minute', startMs, toMs),
    isForced,
  );
  return sumChunks(chunks ?? []);
}

/** Returns the sums of chunks, without their overlaps. */
export function sumChunks(chunks: readonly Chunk[]): Counts {
  return chunks.reduce<Counts>(
    (total, { sums, sign }) => sums.map((sum, counter) => countOf(total, counter) + sign * sum),
    [],
  );
}

/**
 * Returns the next finer aggregation that agrees with `day` over older days; undefined if there is none, so
 * that no total may be read now. A lag of `day` explains only missing rows of the newest days.
 */
export async function finerSource(
  reader: WindowReader,
  { aggregation }: TotalSource,
  dayStartMs: number,
): Promise<TotalSource | undefined> {
  const fromMs = dayStartMs - OLDER_FROM_MS;
  const toMs = dayStartMs - OLDER_TO_MS;
  const byDay = await sumBetween(reader, 'day', fromMs, toMs);
  // Minutes first: today's are what the coarser aggregation was compared with.
  if (!(await agreesWithDay(reader, 'minute', byDay, fromMs, toMs))) {
    return undefined;
  }
  return aggregation === 'day' && (await agreesWithDay(reader, 'quarter', byDay, fromMs, toMs))
    ? { kind: 'unverified', aggregation: 'quarter' }
    : { kind: 'minutes', aggregation: 'minute' };
}

/** Days so old that no lag of `day` reaches them: two to eight days back. */
const OLDER_FROM_MS = 8 * DAY_MS;
const OLDER_TO_MS = 2 * DAY_MS;

/**
 * Whether an aggregation has the counts that `day` has. `day` may start its windows a day early, at
 * both ends: its sum is at least that of a window that ends a day earlier, and at most that of one
 * that starts a day earlier. True if there is nothing to compare.
 */
async function agreesWithDay(
  reader: WindowReader,
  aggregation: 'quarter' | 'minute',
  byDay: Counts | undefined,
  fromMs: number,
  toMs: number,
): Promise<boolean> {
  if (byDay === undefined) {
    return true;
  }
  const shorter = await sumBetween(reader, aggregation, fromMs, toMs - DAY_MS);
  if (shorter === undefined) {
    return true;
  }
  const longer = await sumBetween(reader, aggregation, fromMs - DAY_MS, toMs);
  return longer === undefined || areConsistent(byDay, shorter, longer);
}

/** Two windows that are open at the end, subtracted. Undefined if another aggregation was forced. */
async function sumBetween(
  reader: WindowReader,
  aggregation: TotalAggregation,
  fromMs: number,
  toMs: number,
): Promise<Counts | undefined> {
  const after = await reader.read(aggregation, toMs);
  const all = await reader.read(aggregation, fromMs);
  return all.aggregation === aggregation && after.aggregation === aggregation
    ? minus(all.sums, after.sums)
    : undefined;
}
