/** Times and key forms as `check` writes them into a narrow column. Pure. */
import { formatDuration } from '../base/duration.ts';
import { ServiceError } from '../base/errors.ts';
import type { StreamSurvey } from '../counting/survey.ts';
import type { Zone } from '../counting/zone.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** How long ago: `3m`, `26h`, `9d`. */
export function ageText(ageMs: number): string {
  if (ageMs < HOUR_MS) {
    return `${Math.floor(ageMs / MINUTE_MS)}m`;
  }
  return ageMs < 2 * DAY_MS ? `${Math.floor(ageMs / HOUR_MS)}h` : `${Math.floor(ageMs / DAY_MS)}d`;
}

/** Local time, with the date where it is not that of `nowMs`: `14:03`, `11-19 14:03`. */
export function minuteText(instantMs: number, nowMs: number, zone: Zone): string {
  const [date = '', time = ''] = zone.format(instantMs).split('T');
  const [today] = zone.format(nowMs).split('T');
  return date === today ? time.slice(0, 5) : `${date.slice(5)} ${time.slice(0, 5)}`;
}

/** By how much a clock is ahead, in whole seconds: `+0s`, `-3m2s`. */
export function clockText(aheadMs: number): string {
  const seconds = Math.round(aheadMs / 1_000);
  return `${seconds < 0 ? '-' : '+'}${formatDuration(Math.abs(seconds) * 1_000)}`;
}

/** The form of the minute keys that was found: `iso`, `compact utc`, `unknown`. */
export function keysText(outcome: StreamSurvey | ServiceError): string {
  if (outcome instanceof ServiceError) {
    return '-';
  }
  const { status, readings } = outcome.dating;
  const [reading] = readings;
  if (status !== 'established' || reading === undefined) {
    return status;
  }
  return reading.zone === 'written' ? reading.form : `${reading.form} ${reading.zone}`;
}
