/** Reads the counts of each window of a plan: by minute for a customer, else by branch or device. */
import { ServiceError } from '../base/errors.ts';
import { MINUTE_STREAMS } from '../base/model.ts';
import type { KeyTimes, MinuteStream } from '../base/model.ts';
import { readByKey } from '../counting/breakdowns/poll-breakdown.ts';
import { contains, spanOf } from '../counting/calendar/calendar.ts';
import type { Span } from '../counting/calendar/calendar.ts';
import { readPast } from '../counting/past/read-past.ts';
import type { PastSource } from '../counting/past/read-past.ts';
import { grandTotal } from '../counting/rows/counts.ts';
import type { CountsByKey } from '../counting/rows/counts.ts';
import type { DayCounts } from '../counting/rows/day-counts.ts';
import { isForced, readChunks, sumChunks, WindowReader } from '../counting/rows/window-reader.ts';
import type { Query, WindowResponse } from '../counting/rows/window-reader.ts';
import type { CustomerPlan } from './plan.ts';
import { readWindows } from './windows.ts';

/** The key of a customer as a whole. */
export const WHOLE = '';

/** The counts of each window by key; undefined for a stream that is not read. */
export interface CustomerReading {
  readonly people: readonly CountsByKey[] | undefined;
  readonly logins: readonly CountsByKey[] | undefined;
}

/** Reads what a plan needs. Rejects with a ServiceError unless everything was read. */
export async function readCustomer(
  plan: CustomerPlan,
  keyTimes: KeyTimes,
  query: Query,
): Promise<CustomerReading> {
  const { windows, config } = plan;
  const { by } = plan.options;
  if (by !== 'customer') {
    const reader = readerOf(plan, 'people', query);
    const people = await readWindows(windows, (startMs, endMs) =>
      readByKey(reader, by, startMs, endMs),
    );
    const hasLogins = by === 'branch' && config.streams.includes('logins');
    return {
      people,
      logins: hasLogins ? await readStream(plan, 'logins', keyTimes, query) : undefined,
    };
  }
  const [people, logins] = await Promise.all(
    MINUTE_STREAMS.map(async (stream) =>
      config.streams.includes(stream) ? await readStream(plan, stream, keyTimes, query) : undefined,
    ),
  );
  return { people, logins };
}

async function readStream(
  plan: CustomerPlan,
  stream: MinuteStream,
  keyTimes: KeyTimes,
  query: Query,
): Promise<readonly CountsByKey[]> {
  try {
    return await readByMonth(plan, { query, stream, calendar: plan.calendar, keyTimes });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.reason !== 'malformed') {
      throw error;
    }
  }
  // Minutes whose keys cannot be parsed still have sums.
  const reader = readerOf(plan, stream, query);
  function readMinute(startMs: number, endMs: number | undefined): Promise<WindowResponse> {
    return reader.read('minute', startMs, endMs);
  }
  return readWindows(plan.windows, async (startMs, endMs) => {
    const chunks = await readChunks(await readMinute(startMs, endMs), readMinute, isForced);
    return new Map([[WHOLE, sumChunks(chunks ?? [])]]);
  });
}

function readerOf({ calendar, nowMs }: CustomerPlan, stream: MinuteStream, query: Query) {
  return new WindowReader({ query, stream, zone: calendar.zone, nowMs: () => nowMs });
}

/** Reads the counting periods one by one: a record with a wrong time stays in its own. */
async function readByMonth(
  { windows, calendar }: CustomerPlan,
  source: PastSource,
): Promise<readonly CountsByKey[]> {
  const months = Map.groupBy(windows, ({ startMs }) => calendar.periodAt(startMs).startMs);
  const counted: CountsByKey[] = [];
  for (const month of months.values()) {
    const past = await readPast(source, spanOf(month), 'minute');
    counted.push(...countWindows(month, past?.days ?? []));
  }
  return counted;
}

/** Adds up the minutes of each window, which is within a day. */
function countWindows(
  windows: readonly Span[],
  days: readonly DayCounts[],
): readonly CountsByKey[] {
  return windows.map(({ startMs, endMs }) => {
    const counted = days.find(({ day }) => contains(day, startMs));
    const sums = counted?.counts.map((steps) => {
      const [from = 0, to = 0] = [startMs, endMs].map((ms) =>
        Math.max(0, Math.ceil((ms - counted.day.startMs) / counted.stepMs) - counted.first),
      );
      return grandTotal(steps.subarray(from, to));
    });
    return new Map([[WHOLE, sums ?? []]]);
  });
}
