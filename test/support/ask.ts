/** A `query` that responds from a function and records the queries. */
import type { AggregatedResponse, WindowQuery } from '../../src/base/model.ts';
import type { Query } from '../../src/counting/rows/window-reader.ts';

export function queryFrom(
  answer: (query: WindowQuery) => AggregatedResponse,
  asked: WindowQuery[] = [],
): Query {
  return (query) => {
    asked.push(query);
    return Promise.resolve(query).then(answer);
  };
}
