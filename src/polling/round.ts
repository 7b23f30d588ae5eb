/** One poll of one stream, from the first question to the figures it leaves with the customer. */
import type { Clock } from '../base/clock.ts';
import { KINDS } from '../base/nouns.ts';
import type { MinuteStream, Question, Reading } from '../base/nouns.ts';
import type { Asking } from '../counting/asking.ts';
import type { Customer } from '../counting/customer.ts';
import { anchorNeed, pollStream } from '../counting/stream.ts';
import { surveyStream } from '../counting/survey.ts';
import type { StreamSurvey } from '../counting/survey.ts';
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

/** Plans one poll of a stream as of now, to be ended after `deadlineMs`. */
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
  const context = contextOf(customer, stream, clock, reconcileIntervalMs, serviceNowMs);
  const { monotonicMs } = context;
  return {
    need: anchorNeed(state, context),
    run(mayAnchor, deadlineMs) {
      return pollStream(state, {
        ...context,
        mayAnchor,
        hasTime: () => clock.monotonicMs() - monotonicMs < deadlineMs / 2,
      });
    },
  };
}

/** Plans a look at a stream as of now, for a person; it changes nothing of the customer. */
export function planSurvey(
  customer: Customer,
  stream: MinuteStream,
  clock: Clock,
  serviceNowMs: () => number,
): Asking<StreamSurvey> {
  const context = contextOf(customer, stream, clock, Infinity, serviceNowMs);
  return surveyStream({ ...context, mayAnchor: true, hasTime: () => true });
}

function contextOf(
  customer: Customer,
  stream: MinuteStream,
  clock: Clock,
  reconcileIntervalMs: number,
  serviceNowMs: () => number,
): Omit<PollContext, 'mayAnchor' | 'hasTime'> {
  const epoch = customer.epochAt(clock.nowMs());
  return {
    stream,
    kinds: KINDS[stream].length,
    calendar: customer.calendar,
    epoch,
    nowMs: () => clock.nowMs(),
    serviceNowMs,
    monotonicMs: clock.monotonicMs(),
    reconcileIntervalMs,
    marks: customer.marksOf(stream, epoch),
  };
}
