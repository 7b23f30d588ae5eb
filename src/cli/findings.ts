/** What `check --connect` finds, as texts: `error:` if values are missing in the exporter, else `warning:`. */
import type { Breakdown, RequestTimes } from '../base/model.ts';
import { counted, printable } from '../base/output.ts';
import type { Zone } from '../counting/calendar/zone.ts';
import type { StreamDiagnosis } from '../counting/check/diagnose.ts';
import type { CountsLately } from '../counting/check/lately.ts';
import { isOtherZone } from '../counting/check/request-times.ts';
import type { RequestTimesComparison } from '../counting/check/request-times.ts';
import { arrivalsOf, findShift } from '../counting/check/shifted-hours.ts';
import type { Past } from '../counting/past/past.ts';
import { isZero } from '../counting/rows/counts.ts';
import type { Counts } from '../counting/rows/counts.ts';
import { unreadableKey } from '../counting/rows/keys.ts';
import type { PollContext } from '../counting/totals/state.ts';
import type { RegisteredCustomer } from '../customers.ts';
import { MAX_IGNORED_OFFSET_MS, MAX_OFFSET_MS } from '../service/server-clock.ts';

/** A branch that the service or the configuration has. */
export interface BranchReport {
  readonly key: string;
  /** As configured. */
  readonly name: string | undefined;
  readonly isConfigured: boolean;
  /** Entries and exits of 28 days; 0 for a branch that the service does not know. */
  readonly counts: Counts;
}

/** Returns what an operator should know of a stream; the service's clock is `aheadMs` ahead. */
export function streamFindings(
  { day, isMinuteForced, key, state }: StreamDiagnosis,
  aheadMs = 0,
): readonly string[] {
  const { snapshot } = state;
  const dayDiffers = day.agrees === false;
  const hasFiner = dayDiffers && day.totalAggregation !== 'day' && !isMinuteForced;
  // Occupancy and last seen need minutes with readable keys.
  const unreadable = key === undefined ? undefined : unreadableKey([{ key, counts: [] }]);
  const lacksMinutes =
    unreadable === undefined && snapshot !== undefined && snapshot.minutes === undefined;
  const hasNoCounts = key === undefined && snapshot !== undefined && isZero(snapshot.totals);
  const isWrong = Math.abs(aheadMs) > MAX_OFFSET_MS;
  const clocks = 'the clocks of the service and of this machine differ by more than';
  const all: readonly (readonly [applies: boolean, finding: string])[] = [
    [isWrong, `error: ${clocks} six hours`],
    [!isWrong && Math.abs(aheadMs) > MAX_IGNORED_OFFSET_MS, `warning: ${clocks} a minute`],
    [snapshot === undefined, 'error: implausible totals, different at each request'],
    [hasFiner, 'warning: day totals differ from minute totals, using a finer aggregation'],
    [
      dayDiffers && !hasFiner,
      'error: day totals differ from minute totals, and the service does not return minutes: the totals may be too low',
    ],
    [
      unreadable !== undefined,
      `error: minute key ${unreadable} cannot be parsed, occupancy and last seen are unavailable`,
    ],
    [
      lacksMinutes,
      "error: the service does not return today's minutes, occupancy and last seen are unavailable",
    ],
    [
      hasNoCounts,
      'warning: no counts in this month and in the last 14 days: does client_id belong to it?',
    ],
  ];
  return all.flatMap(([applies, finding]) => (applies ? [finding] : []));
}

/** Returns what does not fit about the time zone of keys. */
export function zoneFinding(
  { keyTimesFit }: StreamDiagnosis,
  { keyTimes, calendar: { zone } }: PollContext,
): string | undefined {
  switch (keyTimesFit?.kind) {
    case 'other setting':
      return `error: service.key_times: ${keyTimes} does not fit the service, set it to ${keyTimesFit.keyTimes} if timezone ${zone.name} is right`;
    case 'ahead':
      return `warning: keys of minutes are ${keyTimesFit.hours} hours ahead of the clock: is timezone ${zone.name} right?`;
    case 'no finding':
    case undefined:
      return undefined;
  }
}

/** Returns what does not fit about the times of requests, as far as is known. */
export function timesFinding(
  { fitting: [best, ...others], isCertain, counts, window }: RequestTimesComparison,
  configured: RequestTimes,
  zone: Zone,
): string | undefined {
  if (isOtherZone(counts)) {
    return `warning: times without an offset mean another hour at the service: is timezone ${zone.name} right?`;
  }
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

/** Returns a warning if the hours of another time zone fit better; undefined if buildings have hours of their own. */
export function hoursFinding(
  { customer, config }: Pick<RegisteredCustomer, 'customer' | 'config'>,
  past: Past,
): string | undefined {
  const { branches, openingHours, timezone } = config;
  if (
    openingHours === undefined ||
    Object.values(branches).some((branch) => branch.openingHours !== openingHours)
  ) {
    return undefined;
  }
  const shift = findShift(
    arrivalsOf(customer.calendar, past),
    (atMs) => customer.isOpenAt(atMs) === true,
  );
  if (shift === undefined) {
    return undefined;
  }
  const [outside, shifted] = [shift.outside, shift.outsideShifted].map((share) =>
    Math.round(100 * share),
  );
  return (
    `warning: ${outside} % of the people come outside opening_hours, ${shifted} % if these were ` +
    `${counted(Math.abs(shift.hours), 'hour')} ${shift.hours < 0 ? 'earlier' : 'later'}: is timezone ${timezone} right?`
  );
}

/** Returns warnings of ids that the service does not know, and of missing names. */
export function branchFindings(branches: readonly BranchReport[]): readonly string[] {
  const unknown = branches.filter(({ counts, isConfigured }) => isConfigured && isZero(counts));
  const unnamed = branches.filter(({ counts, name }) => name === undefined && !isZero(counts));
  return [
    [unknown, 'configured, but not counted in 28 days: is the id right?'] as const,
    [unnamed, 'without a name under branches'] as const,
  ].flatMap(([found, text]) => {
    const keys = found.map(({ key }) => key);
    return keysWarning('branch', keys, text);
  });
}

/** Returns warnings of branches or devices that counted nobody lately while the others did. */
export function silentFindings(breakdown: Breakdown, { silent }: CountsLately): readonly string[] {
  return silent.flatMap(({ time, keys }) => {
    const text = `nobody in the last ${time}, while the others counted: dead, or closed?`;
    return keysWarning(breakdown, keys, text);
  });
}

/** More are counted. */
const MAX_LISTED = 10;

/** Returns no warning without keys. */
function keysWarning(breakdown: Breakdown, keys: readonly string[], text: string) {
  const shown = keys.slice(0, MAX_LISTED).map(printable).join(', ');
  const more = keys.length > MAX_LISTED ? ` and ${keys.length - MAX_LISTED} more` : '';
  return keys.length === 0 ? [] : [`warning: ${breakdown} ${shown}${more}: ${text}`];
}
