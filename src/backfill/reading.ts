/** Reads one month of one customer from the service. */
import type { ServiceError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { AggregatedResponse, KeyTimes, MinuteStream, WindowQuery } from '../base/model.ts';
import { accessOf } from '../config/credentials.ts';
import { readBranchPast } from './branches.ts';
import { readBranchTotals } from './branch-totals.ts';
import type { BranchTotals } from './branch-totals.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../base/duration.ts';
import { daysBefore } from '../counting/past/past.ts';
import { readPast } from '../counting/past/read-past.ts';
import type { PastCounts, PastSource } from '../counting/past/read-past.ts';
import { spanOf } from '../counting/calendar/calendar.ts';
import type { Span } from '../counting/calendar/calendar.ts';
import type { DayCounts } from '../counting/rows/day-counts.ts';
import type { PeriodPast } from './replay.ts';
import type { CustomerClient, Service } from '../service/types.ts';
import type { BackfillTarget, MonthPart } from './targets.ts';

export interface PartPast extends Pick<PeriodPast, 'streams' | 'daysBefore' | 'branches'> {
  /** Undefined for a customer that is one building. */
  readonly branchTotals: BranchTotals | undefined;
}

/** Rejects with a ServiceError unless everything was read. */
export type ReadPart = (part: MonthPart) => Promise<PartPast>;

/** Enough for an outage of some minutes, and for any Retry-After. */
const MAX_ATTEMPTS = 18;
const MIN_LOGGED_WAIT_MS = 5 * SECOND_MS;

/** Returns a reader of months, which waits and retries while the service is not available. */
export function createReader(
  service: Service,
  keyTimes: KeyTimes,
  log: Logger,
  stop: AbortSignal,
): ReadPart {
  function onWait({ reason, message }: ServiceError, waitMs: number): void {
    if (waitMs >= MIN_LOGGED_WAIT_MS) {
      const wait_seconds = Math.ceil(waitMs / SECOND_MS);
      log.warn('service not available, retrying', { reason, error: message, wait_seconds });
    }
  }
  const retries = { maxAttempts: MAX_ATTEMPTS, maxWaitMs: HOUR_MS, onWait };
  const clients = new Map<BackfillTarget, CustomerClient>();

  return async ({ target, period: { startMs }, range }) => {
    const { config, calendar } = target;
    const client = clients.get(target) ?? service.clientFor(accessOf(config), retries);
    clients.set(target, client);
    function query(question: WindowQuery): Promise<AggregatedResponse> {
      return client.query(question, stop);
    }
    const span = { startMs, endMs: Math.ceil(range.endMs / MINUTE_MS) * MINUTE_MS };
    const firstDay = calendar.dayAt(range.startMs);
    const streams: Partial<Record<MinuteStream, PastCounts>> = {};
    const before: Partial<Record<MinuteStream, readonly DayCounts[]>> = {};
    await Promise.all(
      config.streams.map(async (stream) => {
        const source = { query, stream, calendar, keyTimes };
        const counted = await readPast(source, span, 'minute');
        const days = await readDaysBefore(source, firstDay, startMs);
        if (counted !== undefined) {
          streams[stream] = counted;
        }
        if (days !== undefined) {
          before[stream] = days;
        }
      }),
    );
    const isByBranch = config.breakdowns.includes('branch');
    const exact = { startMs, endMs: range.endMs };
    const branchTotals = isByBranch
      ? await readBranchTotals(calendar, exact, range.startMs, query)
      : undefined;
    const branches =
      isByBranch && streams.people !== undefined
        ? await readBranchPast(
            calendar,
            { startMs: firstDay.startMs, endMs: range.endMs },
            streams.people.days,
            before.people,
            query,
          )
        : undefined;
    return { streams, branchTotals, daysBefore: before, branches };
  };
}

/**
 * Returns those of the days before a day, as many as the estimate needs, that end by `endMs`. Undefined if the
 * service returns no minutes. Throws a ServiceError.
 */
export async function readDaysBefore(
  source: PastSource,
  day: Span,
  endMs: number,
): Promise<readonly DayCounts[] | undefined> {
  const days = daysBefore(source.calendar, day).filter((one) => one.endMs <= endMs);
  return days.length === 0 ? [] : (await readPast(source, spanOf(days), 'quarter'))?.days;
}
