/**
 * One poll of the people or logins of a customer: what it reads is planned, requested and decided. A
 * poll that fails changes nothing (rule 6). README.md has the numbered rules.
 */
import { MINUTE_MS } from '../../base/duration.ts';
import { isZero } from '../rows/counts.ts';
import { WindowReader } from '../rows/window-reader.ts';
import type { Query } from '../rows/window-reader.ts';
import { decide, secondAggregation } from './decide.ts';
import { requestBaseline, requestRecent } from './requests.ts';
import type { PollContext, PollOutcome, PollPlan, StreamState } from './state.ts';

/** While the key format is ambiguous, a new baseline may be taken after this time. */
const AMBIGUOUS_KEYS_RETRY_MS = MINUTE_MS;

/** Returns what a poll reads: a baseline if there is none, or another one is due. */
export function planPoll(
  { baseline, keyFormat, recent }: StreamState,
  { calendar, clocks, monotonicMs, period, renewalMs }: PollContext,
): PollPlan {
  if (baseline === undefined) {
    return 'baseline';
  }
  const { takenAtMonotonicMs, minutes } = baseline;
  const hasRows = minutes === undefined || (recent !== undefined && !isZero(recent));
  const isDue =
    takenAtMonotonicMs < renewalMs ||
    baseline.period.startMs !== period.startMs ||
    baseline.day.startMs !== calendar.dayAt(clocks.nowMs()).startMs ||
    (keyFormat.status === 'ambiguous' &&
      hasRows &&
      monotonicMs - takenAtMonotonicMs >= AMBIGUOUS_KEYS_RETRY_MS);
  return isDue ? 'baseline' : 'recent';
}

/**
 * Polls once. `recent` needs a baseline in the state. Rejects with a ServiceError if a response that is
 * needed is missing or malformed.
 */
export async function pollStream(
  state: StreamState,
  plan: PollPlan,
  context: PollContext,
  query: Query,
): Promise<PollOutcome> {
  const reader = createReader(context, query);
  const answers =
    plan === 'baseline' || state.baseline === undefined
      ? await requestBaseline(state, context, reader)
      : await requestRecent(state, state.baseline, context, reader);
  const second = secondAggregation(state, answers, context);
  const confirmation = second && (await reader.read(second, context.period.startMs));
  return decide(state, answers, context, confirmation);
}

/** Returns the reader of one poll. Windows that are open end now. */
export function createReader(
  { stream, calendar, clocks }: PollContext,
  query: Query,
): WindowReader {
  return new WindowReader({
    query,
    stream,
    zone: calendar.zone,
    nowMs: () => clocks.nowMs(),
  });
}
