/** Answers the questions of a conversation from a function, and remembers what was asked. */
import type { Question, Reading } from '../../src/base/nouns.ts';
import type { Asking } from '../../src/counting/asking.ts';

export function answering<Result>(
  asking: Asking<Result>,
  answer: (question: Question) => Reading,
  asked: Question[] = [],
): Result {
  let step = asking.next();
  while (step.done !== true) {
    asked.push(step.value);
    let reading: Reading;
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
