/** What `check --connect` says about `service.request_times`. */
import { serviceErrorOf } from '../base/errors.ts';
import type { MinuteStream, RequestTimes } from '../base/model.ts';
import type { ServiceSettings } from '../base/service-settings.ts';
import type { Zone } from '../counting/calendar/zone.ts';
import { compareRequestTimes } from '../counting/request-times.ts';
import type { RequestTimesComparison } from '../counting/request-times.ts';
import type { Query } from '../counting/rows/window-reader.ts';
import { ABSENT } from '../base/output.ts';

export interface RequestTimesReport {
  readonly comparison: RequestTimesComparison;
  /** Undefined if the configured setting fits, as far as is known. */
  readonly finding: string | undefined;
}

/**
 * Compares the ways to write times for one customer, twice if the configured one does not fit: a record may
 * have arrived between two of the requests. Undefined if the service does not respond, or forces another
 * aggregation.
 */
export async function reportRequestTimes(
  stream: MinuteStream,
  zone: Zone,
  nowMs: number,
  query: Query,
  { requestTimes: configured }: Pick<ServiceSettings, 'requestTimes'>,
): Promise<RequestTimesReport | undefined> {
  async function compare(): Promise<RequestTimesReport | undefined> {
    const comparison = await compareRequestTimes(stream, zone, nowMs, query);
    return comparison && { comparison, finding: findingOf(comparison, configured, zone) };
  }
  try {
    const first = await compare();
    return first?.finding === undefined ? first : await compare();
  } catch (error) {
    serviceErrorOf(error);
    return undefined;
  }
}

function findingOf(
  { fitting: [best, ...others], isCertain, counts, window }: RequestTimesComparison,
  configured: RequestTimes,
  zone: Zone,
): string | undefined {
  if (best === undefined || [best, ...others].includes(configured)) {
    return undefined;
  }
  if (counts[configured] === undefined) {
    return `error: the service refuses times with service.request_times: ${configured}, set it to ${best}`;
  }
  if (isCertain) {
    return `error: service.request_times: ${configured} does not fit the service, set it to ${best}`;
  }
  const [from = '', to = ''] = [window.startMs, window.endMs].map((atMs) =>
    zone.format(atMs).slice('2026-11-22T'.length, '2026-11-22T19:06'.length),
  );
  return (
    `warning: if anybody came between ${from} and ${to}, set service.request_times: ${best}; ` +
    'else check again while it is open'
  );
}

/** The sum of the counts, or `refused`. */
export function sumCell(
  comparison: RequestTimesComparison | undefined,
  requestTimes: RequestTimes,
): string | number {
  return comparison === undefined
    ? ABSENT
    : (comparison.counts[requestTimes]?.reduce((sum, count) => sum + count, 0) ?? 'refused');
}

/** `offset, utc, local`; `utc?` if it fits only if somebody came. */
export function fittingCell(comparison: RequestTimesComparison | undefined): string {
  const { fitting = [], isCertain = false } = comparison ?? {};
  return fitting.length === 0 ? ABSENT : fitting.join(', ') + (isCertain ? '' : '?');
}
