/**
 * The total since the epoch, in as few answers as the service can be trusted with: one by `day`;
 * one by `quarter` where `day` lags; else by `minute` in pieces that are small enough not to be
 * forced into another aggregation.
 */
import type { WindowReader } from './query.ts';
import { floorToMinute, MINUTE_MS } from './calendar.ts';
import { isZero, minus, plus } from './counts.ts';
import type { Counts } from './counts.ts';

/** By what the total is read. */
export type TotalsBy = 'day' | 'quarter' | 'minute';

/** What to read by once this one has been caught lagging. */
export function finerThan(totalsBy: TotalsBy): TotalsBy {
  return totalsBy === 'day' ? 'quarter' : 'minute';
}

/** A piece this short is taken as it is answered. */
export const SHORTEST_PIECE_MS = 30 * MINUTE_MS;
/** How far to either side of a seam nobody must be counted. */
const BESIDE_MS = 2 * MINUTE_MS;
/** How far from the middle of a piece a quiet minute is looked for, in steps. */
const SEAM_STEPS_MS = [0, 7, -7, 17, -17, 41, -41, 97, -97].map((minutes) => minutes * MINUTE_MS);

/** Where two pieces meet, and what both of them count there: less than 0 what neither does. */
interface Seam {
  readonly atMs: number;
  readonly twice: Counts;
}

/**
 * The sum of everything from `fromMs` on, read by the minute. Pieces meet in a minute without
 * counts, where it does not matter whether a window includes its edges, or where it is known how they
 * count what is on the edge.
 */
export async function totalByMinutes(
  reader: WindowReader,
  fromMs: number,
  toMs: number | undefined,
  nowMs: number,
): Promise<Counts> {
  const answer = await reader.read('minute', fromMs, toMs);
  const endMs = toMs ?? nowMs;
  if (answer.aggregation === 'minute' || endMs - fromMs <= SHORTEST_PIECE_MS) {
    return answer.sums;
  }
  const { atMs, twice } = await findSeam(reader, fromMs, endMs);
  const before = await totalByMinutes(reader, fromMs, atMs, nowMs);
  const after = await totalByMinutes(reader, atMs, toMs, nowMs);
  return minus(plus(before, after), twice);
}

/** A minute near the middle with nobody counted beside it; the middle itself where there is none. */
async function findSeam(reader: WindowReader, fromMs: number, toMs: number): Promise<Seam> {
  const middleMs = floorToMinute((fromMs + toMs) / 2);
  for (const stepMs of SEAM_STEPS_MS) {
    const seamMs = middleMs + stepMs;
    if (seamMs - fromMs > BESIDE_MS && toMs - seamMs > BESIDE_MS) {
      const around = await reader.read('minute', seamMs - BESIDE_MS, seamMs + BESIDE_MS);
      if (isZero(around.sums)) {
        return { atMs: seamMs, twice: around.sums };
      }
    }
  }
  return { atMs: middleMs, twice: await countedTwice(reader, middleMs) };
}

/** The same cut through some minutes alone, whose whole is small enough to be asked for. */
async function countedTwice(reader: WindowReader, seamMs: number): Promise<Counts> {
  const before = await reader.read('minute', seamMs - BESIDE_MS, seamMs);
  const after = await reader.read('minute', seamMs, seamMs + BESIDE_MS);
  const whole = await reader.read('minute', seamMs - BESIDE_MS, seamMs + BESIDE_MS);
  return minus(plus(before.sums, after.sums), whole.sums);
}
