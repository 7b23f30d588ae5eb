/** Reads the counts of each window of a plan: by minute for a customer, else by branch or device. */
import { ServiceError } from '../base/errors.ts';
import type { MinuteStream } from '../base/model.ts';
import { readMinuteHistory } from '../backfill/read-minutes.ts';
import type { MinuteHistory } from '../backfill/read-minutes.ts';
import { readByKey } from '../counting/breakdowns/poll-breakdown.ts';
import type { CountsByKey } from '../counting/breakdowns/poll-breakdown.ts';
import type { Span } from '../counting/calendar/calendar.ts';
import { countOf } from '../counting/rows/counts.ts';
import { ANY_KEY_FORMAT, namesTimeOfDay } from '../counting/rows/key-format.ts';
import { isForced, readChunks, WindowReader } from '../counting/rows/window-reader.ts';
import type { Query } from '../counting/rows/window-reader.ts';
import { sumChunks } from '../counting/totals/period-total.ts';
import type { CustomerPlan } from './plan.ts';
import { inParallel, readWindows } from './windows.ts';

/** The key of a customer as a whole. */
export const WHOLE = '';

/** The counts of each window by key; undefined for a stream that is not read. */
export interface CustomerReading {
  readonly people: readonly CountsByKey[] | undefined;
  readonly logins: readonly CountsByKey[] | undefined;
}

/** Reads what a plan needs. Rejects with a ServiceError unless everything was read. */
export async function readCustomer(plan: CustomerPlan, query: Query): Promise<CustomerReading> {
  const { breakdown, windows, config } = plan;
  if (breakdown !== undefined) {
    const reader = readerOf(plan, 'people', query);
    const people = await readWindows(windows, (startMs, endMs) =>
      readByKey(reader, breakdown, startMs, endMs),
    );
    return { people, logins: undefined };
  }
  const [people, logins] = await inParallel(['people', 'logins'] as const, (stream) =>
    config.streams.includes(stream) ? readStream(plan, stream, query) : Promise.resolve(undefined),
  );
  return { people, logins };
}

async function readStream(
  plan: CustomerPlan,
  stream: MinuteStream,
  query: Query,
): Promise<readonly CountsByKey[]> {
  try {
    const counted = await readByMonth(plan, stream, query);
    if (counted !== undefined) {
      return counted;
    }
  } catch (error) {
    if (!(error instanceof ServiceError) || error.reason !== 'malformed') {
      throw error;
    }
  }
  // Minutes whose keys cannot be parsed still have sums.
  const reader = readerOf(plan, stream, query);
  return readWindows(plan.windows, async (startMs, endMs) => {
    const whole = await reader.read('minute', startMs, endMs);
    const chunks = await readChunks(
      whole,
      (fromMs, toMs) => reader.read('minute', fromMs, toMs),
      isForced,
    );
    return new Map([[WHOLE, sumChunks(chunks ?? [])]]);
  });
}

function readerOf({ calendar, nowMs }: CustomerPlan, stream: MinuteStream, query: Query) {
  return new WindowReader({ query, stream, zone: calendar.zone, nowMs: () => nowMs });
}

/**
 * Reads the counting periods one by one: a record with a wrong time stays in its own. Undefined if keys have no
 * date, so that what they mean cannot be verified.
 */
async function readByMonth(
  { calendar, windows }: CustomerPlan,
  stream: MinuteStream,
  query: Query,
): Promise<readonly CountsByKey[] | undefined> {
  const months = Map.groupBy(windows, ({ startMs }) => calendar.periodAt(startMs).startMs);
  const counted: CountsByKey[] = [];
  let keyFormat = ANY_KEY_FORMAT;
  for (const month of months.values()) {
    const span = { startMs: month[0]?.startMs ?? 0, endMs: month.at(-1)?.endMs ?? 0 };
    const range = { stream, calendar, span, needsDayBefore: false };
    const read = await readMinuteHistory(range, keyFormat, query);
    ({ keyFormat } = read);
    if (namesTimeOfDay(keyFormat)) {
      return undefined;
    }
    counted.push(...countWindows(month, read.history));
  }
  return counted;
}

/** Adds up the minutes of each window. */
function countWindows(
  windows: readonly Span[],
  { days }: Pick<MinuteHistory, 'days'>,
): readonly CountsByKey[] {
  const sums = windows.map((): number[] => []);
  let window = 0;
  for (const { day, stepMs, first, counts } of days) {
    const steps = counts[0]?.length ?? 0;
    for (let step = 0; step < steps; step += 1) {
      const atMs = day.startMs + (first + step) * stepMs;
      while (window < windows.length - 1 && atMs >= (windows[window]?.endMs ?? Infinity)) {
        window += 1;
      }
      const sum = sums[window] ?? [];
      for (let counter = 0; counter < counts.length; counter += 1) {
        sum[counter] = countOf(sum, counter) + countOf(counts[counter] ?? [], step);
      }
    }
  }
  return sums.map((sum) => new Map(sum.length === 0 ? [] : [[WHOLE, sum]]));
}
