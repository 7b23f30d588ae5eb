/** What `check --connect` finds, as texts for an operator. None contains a secret. */
import type { Breakdown, RequestTimes } from '../base/model.ts';
import { DAY_MS } from '../base/duration.ts';
import { printable } from '../base/output.ts';
import type { StreamDiagnosis } from '../counting/check/diagnose.ts';
import type { CountsLately } from '../counting/check/lately.ts';
import { isOtherZone } from '../counting/check/request-times.ts';
import type { RequestTimesComparison } from '../counting/check/request-times.ts';
import type { Zone } from '../counting/calendar/zone.ts';
import { isZero } from '../counting/rows/counts.ts';
import { unreadableKey } from '../counting/rows/keys.ts';
import type { PollContext } from '../counting/totals/state.ts';
import { MAX_IGNORED_OFFSET_MS, MAX_OFFSET_MS } from '../service/server-clock.ts';
import type { BranchReport, StreamReport } from './connect.ts';

/** After an error, values are missing in the exporter. */
export type Finding = readonly [severity: 'error' | 'warning', text: string];
/** What a check returns: undefined or false if it has found nothing. */
export type MaybeFinding = Finding | false | undefined;

/** Returns what is wrong with the clock of the service, which is `aheadMs` ahead. */
export function clockFinding(aheadMs = 0): MaybeFinding {
  const text = 'the clocks of the service and of this machine differ by more than';
  return Math.abs(aheadMs) > MAX_OFFSET_MS
    ? ['error', `${text} six hours`]
    : Math.abs(aheadMs) > MAX_IGNORED_OFFSET_MS && ['warning', `${text} a minute`];
}

/** Returns what an operator should know of a stream. */
export function streamFindings(diagnosis: StreamDiagnosis): readonly MaybeFinding[] {
  const { day, isMinuteForced, key, state } = diagnosis;
  const { snapshot } = state;
  const unreadable = key === undefined ? undefined : unreadableKey([{ key, counts: [] }]);
  const isEmpty = key === undefined && snapshot !== undefined && isZero(snapshot.totals);
  const lost = 'occupancy and last seen are unavailable';
  return [
    snapshot === undefined && ['error', 'implausible totals, different at each request'],
    day.agrees === false && dayFinding(day.totalAggregation !== 'day' && !isMinuteForced),
    unreadable !== undefined && ['error', `minute key ${unreadable} cannot be parsed, ${lost}`],
    unreadable === undefined &&
      snapshot?.minutes === undefined &&
      snapshot && ['error', `the service does not return today's minutes, ${lost}`],
    isEmpty && [
      'warning',
      'no counts in this month and in the last 14 days: does client_id belong to it?',
    ],
  ];
}

function dayFinding(hasFiner: boolean): Finding {
  const text = 'day totals differ from minute totals,';
  return hasFiner
    ? ['warning', `${text} using a finer aggregation`]
    : ['error', `${text} and the service does not return minutes: the totals may be too low`];
}

/** Returns what does not fit about the time zone of keys. */
export function zoneFinding(
  { keyTimesFit: fit }: StreamDiagnosis,
  { keyTimes, calendar: { zone } }: PollContext,
): MaybeFinding {
  switch (fit?.kind) {
    case 'other setting': {
      const text = `service.key_times: ${keyTimes} does not fit the service, set it to`;
      return ['error', `${text} ${fit.keyTimes} if timezone ${zone.name} is right`];
    }
    case 'ahead': {
      const text = `keys of minutes are ${fit.hours} hours ahead of the clock: is timezone`;
      return ['warning', `${text} ${zone.name} right?`];
    }
    case 'no finding':
    case undefined:
      return undefined;
  }
}

/** Returns what does not fit about the times of requests, as far as is known. */
export function timesFinding(
  { fitting, isCertain, counts, window }: RequestTimesComparison,
  configured: RequestTimes,
  zone: Zone,
): MaybeFinding {
  const [best] = fitting;
  const setting = `service.request_times: ${configured}`;
  if (isOtherZone(counts)) {
    const text = 'times without an offset mean another hour at the service: is timezone';
    return ['warning', `${text} ${zone.name} right?`];
  }
  if (best === undefined || fitting.includes(configured)) {
    return undefined;
  }
  if (counts[configured] === undefined) {
    return ['error', `the service refuses times with ${setting}, set it to ${best}`];
  }
  if (isCertain) {
    return ['error', `${setting} does not fit the service, set it to ${best}`];
  }
  const [from, to] = [window.startMs, window.endMs].map((ms) => zone.format(ms).slice(11, 16));
  const set = `if anybody came between ${from} and ${to}, set service.request_times: ${best}`;
  return ['warning', `${set}; else check again while it is open`];
}

/** Returns a warning if people log in, but the doors have counted nobody for a day. */
export function loginsFinding(streams: readonly StreamReport[]): MaybeFinding {
  const people = streams.find(({ stream }) => stream === 'people');
  const logins = streams.find(({ stream }) => stream === 'logins');
  const silentMs = (logins?.lastSeenMs ?? 0) - (people?.lastSeenMs ?? 0);
  const text = 'the doors have counted nobody for a day in which people logged in: are they dead?';
  return people?.failure === undefined && people && silentMs >= DAY_MS && ['warning', text];
}

/** Returns warnings of ids that the service does not know, and of missing names. */
export function branchFindings(branches: readonly BranchReport[]): readonly MaybeFinding[] {
  const unknown = branches.filter(({ counts, isConfigured }) => isConfigured && isZero(counts));
  const unnamed = branches.filter(({ counts, name }) => name === undefined && !isZero(counts));
  const isRight = 'configured, but not counted in 28 days: is the id right?';
  return [
    keysFinding(
      'branch',
      unknown.map(({ key }) => key),
      isRight,
    ),
    keysFinding(
      'branch',
      unnamed.map(({ key }) => key),
      'without a name under branches',
    ),
  ];
}

/** Returns warnings of branches or devices that counted nobody lately while the others did. */
export function silentFindings(
  breakdown: Breakdown,
  { silent }: CountsLately,
): readonly MaybeFinding[] {
  const text = 'while the others counted: dead, or closed?';
  return silent.map(({ time, keys }) =>
    keysFinding(breakdown, keys, `nobody in the last ${time}, ${text}`),
  );
}

/** More are counted. */
const MAX_LISTED = 10;

function keysFinding(breakdown: Breakdown, keys: readonly string[], text: string): MaybeFinding {
  const shown = keys.slice(0, MAX_LISTED).map(printable).join(', ');
  const more = keys.length > MAX_LISTED ? ` and ${keys.length - MAX_LISTED} more` : '';
  return keys.length > 0 && ['warning', `${breakdown} ${shown}${more}: ${text}`];
}
