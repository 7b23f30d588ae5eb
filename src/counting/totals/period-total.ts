/**
 * The total since the period started, by the coarsest aggregation that agrees with `minute` (rule 4):
 * `day` in one request, else `quarter` in one, else `minute` in chunks that the service does not
 * force into another aggregation.
 */
import { anyBelow, grandTotal, plus } from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';
import { isForced, readChunks, sumChunks } from '../rows/window-reader.ts';
import type { WindowReader } from '../rows/window-reader.ts';

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

/** Returns the next finer aggregation. */
export function finerSource({ aggregation }: TotalSource): TotalSource {
  return aggregation === 'day'
    ? { kind: 'unverified', aggregation: 'quarter' }
    : { kind: 'minutes', aggregation: 'minute' };
}

/** So many counts are not twice as many by chance. */
const MIN_DOUBLED_COUNTS = 20;
/** Less than this, no correction leaves that a roll-up does not have yet. */
const MIN_FINER_SHARE = 0.9;

/**
 * Whether a total can replace one by a coarser aggregation, which disagrees with today's minutes. If that one
 * lags, it lacks rows of the newest days only, so that the finer total is not much lower. It is not just twice
 * as high, either: then rows are listed twice. `came` is what came meanwhile, by the finer aggregation.
 */
export function isFinerTotal(total: Counts, coarser: Counts, came: Counts): boolean {
  const twice = plus(coarser, coarser);
  const isListedTwice =
    grandTotal(coarser) >= MIN_DOUBLED_COUNTS && areConsistent(total, twice, plus(twice, came));
  return !isListedTwice && grandTotal(total) >= MIN_FINER_SHARE * grandTotal(coarser);
}
