/** A `query` that responds from a function and records the requests, and responses by key. */
import type { AggregatedResponse, Page, RawRecord, Row } from '../../src/base/model.ts';
import type { Query } from '../../src/counting/rows/window-reader.ts';

/** What is requested from the service. */
export type Requested = Parameters<Query>[0];
export type Respond = (question: Requested) => AggregatedResponse;
export type Change = (response: AggregatedResponse, question: Requested) => AggregatedResponse;

export function queryFrom(respond: Respond, requests: Requested[] = []): Query {
  return (question) => {
    requests.push(question);
    return Promise.resolve(question).then(respond);
  };
}

/** Counts by key, or the rows of a response. */
export type Rows = Readonly<Record<string, readonly number[]>> | readonly Row[];

export function responseOf(rows: Rows, aggregation = 'branch'): AggregatedResponse {
  return {
    aggregation,
    rows:
      rows instanceof Array ? rows : Object.entries(rows).map(([key, counts]) => ({ key, counts })),
  };
}

export function pageOf(...records: readonly RawRecord[]): Page {
  return { aggregation: undefined, records, metadata: {}, startToken: undefined };
}
