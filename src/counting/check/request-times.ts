/**
 * Which setting of `service.request_times` fits a service: one past window is requested with its times
 * written in each way, and the responses are compared (docs/service.md#requests).
 */
import { ServiceError } from '../../base/errors.ts';
import type { FailureReason } from '../../base/errors.ts';
import { REQUEST_TIMES } from '../../base/model.ts';
import type { MinuteStream, RequestTimes } from '../../base/model.ts';
import { DAY_MS, MINUTE_MS } from '../../base/duration.ts';
import { floorToMinute } from '../calendar/calendar.ts';
import type { Span } from '../calendar/calendar.ts';
import type { Zone } from '../calendar/zone.ts';
import { isZero } from '../rows/counts.ts';
import { WindowReader } from '../rows/window-reader.ts';
import type { Query, WindowResponse } from '../rows/window-reader.ts';

/**
 * Counts of the window by how its times were written: those of the rows with counts, in the order of the
 * response. Undefined if the service refused the request, or its response.
 */
export type CountsByTimes = Readonly<Record<RequestTimes, readonly number[] | undefined>>;

export interface RequestTimesFit {
  /** In the order of preference. Empty if nobody came, so that nothing was compared. */
  readonly fitting: readonly RequestTimes[];
  /** If false, they fit only if anybody came within the window. */
  readonly isCertain: boolean;
}

export interface RequestTimesComparison extends RequestTimesFit {
  readonly window: Span;
  readonly counts: CountsByTimes;
}

/** Clocks of the service and of devices may be off by this without an effect on the comparison. */
const MARGIN_MS = 15 * MINUTE_MS;
const MIN_WINDOW_MS = 60 * MINUTE_MS;

/**
 * Compares the three ways. The window is shorter than the zone's offset and ends now: if the service
 * reads the times with a wrong offset, one of the requests is about the future, where nobody was counted.
 * Undefined if the service forces another aggregation. Throws a ServiceError if it does not respond.
 */
export async function compareRequestTimes(
  stream: MinuteStream,
  zone: Zone,
  nowMs: number,
  query: Query,
): Promise<RequestTimesComparison | undefined> {
  // The smaller one, if the offset has changed within a day: the window may have both.
  const offsetMs = [zone.offsetMsAt(nowMs), zone.offsetMsAt(nowMs - DAY_MS)].reduce((a, b) =>
    Math.abs(a) < Math.abs(b) ? a : b,
  );
  const minuteMs = floorToMinute(nowMs);
  const window = {
    startMs: minuteMs - Math.max(MIN_WINDOW_MS, Math.abs(offsetMs)) + MARGIN_MS,
    endMs: minuteMs - MARGIN_MS,
  };
  const responses: (WindowResponse | undefined)[] = [];
  for (const requestTimes of REQUEST_TIMES) {
    const reader = new WindowReader({
      query: (question) => query({ ...question, requestTimes }),
      stream,
      zone,
      nowMs: () => nowMs,
    });
    const response = reader.read('minute', window.startMs, window.endMs);
    responses.push(await response.catch(undefinedIfRefused));
  }
  if (responses.some((response) => response !== undefined && response.aggregation !== 'minute')) {
    return undefined;
  }
  const [offset, utc, local] = responses.map((response) =>
    response?.rows.filter(({ counts }) => !isZero(counts)).flatMap(({ counts }) => counts),
  );
  const counts = { offset, utc, local };
  return { window, counts, ...fittingRequestTimes(counts, offsetMs) };
}

/**
 * Whether a time without an offset means another hour at the service than in the customer's zone: only that
 * has counts, and the same instant written in two ways has none. Then nothing is known about the setting.
 */
export function isOtherZone({ offset, utc, local }: CountsByTimes): boolean {
  return offset?.length === 0 && utc?.length === 0 && local !== undefined && local.length > 0;
}

/** Whether the service may respond if times are written in another way. */
export function isRefusal(reason: FailureReason): boolean {
  return reason === 'rejected' || reason === 'malformed';
}

function undefinedIfRefused(error: unknown): undefined {
  if (!(error instanceof ServiceError && isRefusal(error.reason))) {
    throw error;
  }
}

/**
 * Compares the counts of one window. `offsetMs` is the zone's offset: local time minus UTC.
 *
 * A service that reads local times as UTC reads them `offsetMs` too late, and one that reads UTC as local
 * times reads them `offsetMs` too early. East of UTC, local times are the ones that would be in the future,
 * west of it those in UTC. So if these have counts, they were read correctly.
 */
export function fittingRequestTimes(counts: CountsByTimes, offsetMs: number): RequestTimesFit {
  const answered = REQUEST_TIMES.filter((times) => counts[times] !== undefined);
  const isEast = offsetMs > 0;
  if (isOtherZone(counts)) {
    return { fitting: [], isCertain: false };
  }
  const inOrder = isEast
    ? (['offset', 'local', 'utc'] as const)
    : (['utc', 'offset', 'local'] as const);
  const fits = inOrder.find((times) => (counts[times] ?? []).length > 0);
  if (fits === undefined || offsetMs === 0) {
    // Nothing can be told apart but what is refused.
    const isAnyRefused = answered.length < REQUEST_TIMES.length;
    return { fitting: isAnyRefused || offsetMs === 0 ? answered : [], isCertain: false };
  }
  const same = JSON.stringify(counts[fits]);
  return {
    fitting: answered.filter((times) => JSON.stringify(counts[times]) === same),
    isCertain: isEast !== (fits === 'utc'),
  };
}
