/** A `query` that responds from a function and records the questions. */
import type { AggregatedResponse, WindowQuery } from '../../src/base/model.ts';
import type { Query } from '../../src/counting/rows/window-reader.ts';

export function queryFrom(
  answer: (question: WindowQuery) => AggregatedResponse,
  asked: WindowQuery[] = [],
): Query {
  return (question) => {
    asked.push(question);
    return Promise.resolve(question).then(answer);
  };
}
