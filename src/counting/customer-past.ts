/**
 * The past of a customer's people and logins, from which follow what is usual and the errors of its doors: read
 * once, after the first poll. Each day begins with the day before as it was counted. Once a night the past is
 * compared with the service, and days that are missing or have changed are read.
 */
import { isMinuteStream } from '../base/model.ts';
import type { Stream } from '../base/model.ts';
import type { Customer } from './customer.ts';
import { comparePast } from './past/compare-past.ts';
import { daysBefore } from './past/past.ts';
import { readDaysAgain, readFourWeeks } from './past/read-four-weeks.ts';
import type { Query } from './rows/window-reader.ts';

/** Returns whether the past of a stream is to be read or compared. Breakdowns have none. */
export function isPastDue(customer: Customer, stream: Stream, nowMs: number): boolean {
  if (!isMinuteStream(stream)) {
    return false;
  }
  const { state, days } = customer.streamOf(stream);
  const { keysNoted, snapshot } = state;
  return (
    days.isPastDue(nowMs) &&
    snapshot !== undefined &&
    // Its keys are like those of today.
    (snapshot.minutes !== undefined || keysNoted !== 'keys_unreadable')
  );
}

/**
 * Reads what is missing of the past of a stream, or has changed. Throws a ServiceError, also if the service forces
 * an aggregation that is too coarse.
 */
export async function updatePast(
  customer: Customer,
  stream: Stream,
  query: Query,
  nowMs: number,
): Promise<void> {
  if (!isMinuteStream(stream)) {
    return;
  }
  const { calendar, keyTimes } = customer;
  const source = { query, stream, calendar, keyTimes };
  const today = calendar.dayAt(nowMs);
  const { known } = customer.streamOf(stream).days;
  const days = daysBefore(calendar, today);
  const missing = days.filter(({ startMs }) => startMs >= (known?.today.startMs ?? -Infinity));
  if (
    known === undefined ||
    known.today.startMs > today.startMs ||
    missing.length === days.length
  ) {
    customer.pastRead(stream, await readFourWeeks(source, today));
    return;
  }
  const past = missing.length === 0 ? known : await readDaysAgain(source, known, today, missing);
  // Also if the comparison fails.
  customer.pastRead(stream, past);
  customer.pastRead(stream, await comparePast(source, past));
}
