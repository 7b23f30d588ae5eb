/** Reads the counts of each window of a plan: by minute for a customer, else by branch or device. */
import { ServiceError } from '../base/errors.ts';
import type { MinuteStream } from '../base/model.ts';
import { readMinutes } from '../backfill/read-minutes.ts';
import type { MinuteHistory } from '../backfill/read-minutes.ts';
import { readByKey } from '../counting/breakdowns/poll-breakdown.ts';
import type { CountsByKey } from '../counting/breakdowns/poll-breakdown.ts';
import type { Span } from '../counting/calendar/calendar.ts';
import { areEqual, countOf, grandTotal } from '../counting/rows/counts.ts';
import type { Counts } from '../counting/rows/counts.ts';
import { ANY_KEY_FORMAT, namesTimeOfDay } from '../counting/rows/key-format.ts';
import { isForced, readChunks, WindowReader } from '../counting/rows/window-reader.ts';
import type { Query } from '../counting/rows/window-reader.ts';
import { sumChunks } from '../counting/totals/period-total.ts';
import { spanOf } from './plan.ts';
import type { CustomerPlan } from './plan.ts';
import { inParallel, readWindows, sumOf } from './windows.ts';

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
 * Reads the counting periods one by one: a record with a wrong time stays in its own. One request by `day` for
 * all of them shows whether a response was lowered by a fault: then they are read again, and the larger ones
 * count. Undefined if keys have no date, so that what they mean cannot be verified.
 */
async function readByMonth(
  plan: CustomerPlan,
  stream: MinuteStream,
  query: Query,
): Promise<readonly CountsByKey[] | undefined> {
  const reader = readerOf(plan, stream, query);
  const months = [
    ...Map.groupBy(plan.windows, ({ startMs }) => plan.calendar.periodAt(startMs).startMs).values(),
  ];
  const { startMs, endMs } = spanOf(plan.windows);
  const byDay = await reader.read('day', startMs, endMs);
  const counted = await readMonths(plan, stream, reader, months);
  if (counted === undefined || areEqual(byDay.sums, totalOf(counted.flat()))) {
    return counted?.flat();
  }
  const again = await readMonths(plan, stream, reader, months);
  return counted.flatMap((month, i) => {
    const second = again?.[i] ?? [];
    return grandTotal(totalOf(second)) >= grandTotal(totalOf(month)) ? second : month;
  });
}

/** Returns the counts of the windows of each month; undefined if keys have no date. */
async function readMonths(
  { calendar }: CustomerPlan,
  stream: MinuteStream,
  reader: WindowReader,
  months: readonly (readonly Span[])[],
): Promise<readonly (readonly CountsByKey[])[] | undefined> {
  const counted: (readonly CountsByKey[])[] = [];
  let keyFormat = ANY_KEY_FORMAT;
  for (const windows of months) {
    const range = { stream, calendar, span: spanOf(windows), reader };
    const read = await readMinutes(range, keyFormat);
    ({ keyFormat } = read);
    if (namesTimeOfDay(keyFormat)) {
      return undefined;
    }
    counted.push(countWindows(windows, read.minutes));
  }
  return counted;
}

function totalOf(tables: readonly CountsByKey[]): Counts {
  return sumOf(tables).get(WHOLE) ?? [];
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
