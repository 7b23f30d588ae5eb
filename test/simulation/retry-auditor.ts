/**
 * Audits the requests of one process: an empty response to a query that had rows in the last good
 * poll is requested again. /metrics does not show this, because most empty responses come alone.
 */
import type { Stream } from '../../src/base/model.ts';
import type { SimulatedRequest, SimulatedResponse } from '../../src/simulator/responses.ts';
import type { Environment } from './environment.ts';

const PATHS: Partial<Record<Stream, string>> = { people: '/v1/peoplecount', logins: '/v1/login' };

interface Requests {
  responses: number;
  hadRows: boolean;
}

export type RetryAuditor = ReturnType<typeof createRetryAuditor>;

export function createRetryAuditor(
  { conventions, visitsPerDay }: Environment,
  report: (what: string) => void,
) {
  /** Requests of the running poll, and of the last successful one, by path and query. */
  const now = new Map<string, Map<string, Requests>>();
  const before = new Map<string, Map<string, Requests>>();
  // Listed zeros hide empty responses, and the end of a poll does not say which customer it was.
  const applies =
    conventions.emptyBuckets === 'omitted' &&
    conventions.corrections.share === 0 &&
    visitsPerDay.length === 1;

  function responded({ path, query }: SimulatedRequest, { status, body }: SimulatedResponse): void {
    if (!applies || status !== 200) {
      return;
    }
    const parameters = new URLSearchParams(query ?? {});
    if (parameters.get('aggregation') !== 'minute') {
      return;
    }
    const key = parameters.toString();
    const requests = now.get(path) ?? new Map<string, Requests>();
    now.set(path, requests);
    const { responses, hadRows } = requests.get(key) ?? { responses: 0, hadRows: false };
    const hasRows = body !== '' && !body.endsWith('"result":[]}');
    requests.set(key, { responses: responses + 1, hadRows: hadRows || hasRows });
  }

  function pollEnded(stream: Stream, succeeded: boolean): void {
    const path = PATHS[stream];
    if (path === undefined) {
      return;
    }
    const requests = now.get(path) ?? new Map<string, Requests>();
    now.delete(path);
    if (!succeeded) {
      return;
    }
    // A poll without a baseline has one query.
    const [only, second] = requests;
    if (only !== undefined && second === undefined) {
      const [query, { responses, hadRows }] = only;
      if (responses === 1 && !hadRows && before.get(path)?.get(query)?.hadRows === true) {
        report(`a response without rows to ${path}?${query} was not requested again`);
      }
    }
    before.set(path, requests);
  }
  return { responded, pollEnded };
}
