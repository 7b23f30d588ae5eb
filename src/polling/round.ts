/** One poll of one stream, from the first question to the figures it leaves with the customer. */
import type { Clock } from '../base/clock.ts';
import { KINDS } from '../base/nouns.ts';
import type { MinuteStream, Question, Reading } from '../base/nouns.ts';
import type { Asking } from '../counting/asking.ts';
import type { Customer } from '../counting/customer.ts';
import { anchorNeed, pollStream } from '../counting/stream.ts';
import type { PollContext, PollOutcome } from '../counting/state.ts';

/**
 * Answers the questions of a piece of counting, one after the other, until it has its result. It is
 * told of a question that was not answered, and may go on without.
 */
export async function drive<Result>(
  asking: Asking<Result>,
  ask: (question: Question) => Promise<Reading>,
): Promise<Result> {
  let step = asking.next();
  while (step.done !== true) {
    let reading: Reading;
    try {
      // One after the other is the point: what is asked next depends on the answer.
      reading = await ask(step.value);
    } catch (error) {
      step = asking.throw(error);
      continue;
    }
    step = asking.next(reading);
  }
  return step.value;
}

/** Plans one poll of a stream as of now; it ends by itself before `deadlineMs` have passed, if the service is well. */
export function planPoll(
  customer: Customer,
  stream: MinuteStream,
  clock: Clock,
  reconcileIntervalMs: number,
  serviceNowMs: () => number,
): {
  readonly need: 'must' | 'wish' | 'none';
  run(mayAnchor: boolean, deadlineMs: number): Asking<PollOutcome>;
} {
  const state = customer.stateOf(stream);
  const epoch = customer.epochAt(clock.nowMs());
  const startMs = clock.monotonicMs();
  const context: Omit<PollContext, 'mayAnchor' | 'hasTime'> = {
    stream,
    kinds: KINDS[stream].length,
    calendar: customer.calendar,
    epoch,
    nowMs: () => clock.nowMs(),
    serviceNowMs,
    monotonicMs: startMs,
    reconcileIntervalMs,
    marks: customer.marksOf(stream, epoch),
  };
  return {
    need: anchorNeed(state, context),
    run: (mayAnchor, deadlineMs) =>
      pollStream(state, {
        ...context,
        mayAnchor,
        hasTime: () => clock.monotonicMs() - startMs < deadlineMs / 2,
      }),
  };
}
