/**
 * The histories of a customer's people and logins, from which follow what is usual and the errors of its
 * doors. Each is read once a day: after the first poll, later in the first hours of the day.
 */
import { ServiceError } from '../base/errors.ts';
import { isMinuteStream } from '../base/model.ts';
import type { Stream } from '../base/model.ts';
import type { Customer } from './customer.ts';
import { readHistory } from './occupancy/read-history.ts';
import type { Query } from './rows/window-reader.ts';

/** Returns whether the history of a stream is to be read. Breakdowns have none. */
export function isHistoryDue(customer: Customer, stream: Stream, nowMs: number): boolean {
  if (!isMinuteStream(stream)) {
    return false;
  }
  const { state, days } = customer.streamOf(stream);
  const { keysNoted, snapshot } = state;
  return (
    days.isHistoryDue(nowMs) &&
    snapshot !== undefined &&
    // Its keys are like those of today.
    (snapshot.minutes !== undefined || keysNoted !== 'keys_unreadable')
  );
}

/**
 * Reads the history of a stream. Throws a ServiceError, also if the service forces an aggregation that is
 * too coarse.
 */
export async function updateHistory(
  customer: Customer,
  stream: Stream,
  query: Query,
  nowMs: number,
): Promise<void> {
  if (!isMinuteStream(stream)) {
    return;
  }
  const { calendar, keyTimes } = customer;
  const history = await readHistory(query, stream, calendar, calendar.dayAt(nowMs), keyTimes);
  if (history === undefined) {
    throw new ServiceError('malformed', 'the service returns no minutes');
  }
  customer.historyRead(stream, history);
}
