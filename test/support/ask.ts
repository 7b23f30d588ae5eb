/** Answers the questions of a conversation from a function, and remembers what was asked. */
import type { Question, AggregatedResponse } from '../../src/base/model.ts';
import type { Asking } from '../../src/counting/asking.ts';

export function answering<Result>(
  asking: Asking<Result>,
  answer: (question: Question) => AggregatedResponse,
  asked: Question[] = [],
): Result {
  let step = asking.next();
  while (step.done !== true) {
    asked.push(step.value);
    let reading: AggregatedResponse;
    try {
      reading = answer(step.value);
    } catch (error) {
      step = asking.throw(error);
      continue;
    }
    step = asking.next(reading);
  }
  return step.value;
}
