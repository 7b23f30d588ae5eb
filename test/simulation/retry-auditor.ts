/**
 * Audits the requests of one process: an empty answer to a question that had rows in the last good
 * poll is requested again. /metrics does not show this, because most empty answers come alone.
 */
import type { Stream } from '../../src/base/model.ts';
import type { SimulatedRequest, SimulatedResponse } from '../../src/simulator/responses.ts';
import type { Environment } from './environment.ts';

const PATHS: Partial<Record<Stream, string>> = { people: '/v1/peoplecount', logins: '/v1/login' };

interface Requests {
  answers: number;
  hadRows: boolean;
}

export class RetryAuditor {
  readonly #report: (what: string) => void;
  readonly #applies: boolean;
  /** By path and query: requests of the running poll, and of the last successful one. */
  readonly #now = new Map<string, Map<string, Requests>>();
  readonly #before = new Map<string, Map<string, Requests>>();

  constructor(environment: Environment, report: (what: string) => void) {
    this.#report = report;
    // Listed zeros hide empty answers, and the end of a poll does not say which customer it was.
    this.#applies =
      environment.conventions.emptyBuckets === 'omitted' &&
      environment.conventions.corrections.share === 0 &&
      environment.visitsPerDay.length === 1;
  }

  answered({ path, query }: SimulatedRequest, { status, body }: SimulatedResponse): void {
    const parameters = new URLSearchParams(query ?? {});
    if (!this.#applies || status !== 200 || parameters.get('aggregation') !== 'minute') {
      return;
    }
    const question = parameters.toString();
    const requests = this.#now.get(path) ?? new Map<string, Requests>();
    this.#now.set(path, requests);
    const { answers, hadRows } = requests.get(question) ?? { answers: 0, hadRows: false };
    const hasRows = !body.endsWith('"result":[]}');
    requests.set(question, { answers: answers + 1, hadRows: hadRows || hasRows });
  }

  pollEnded(stream: Stream, succeeded: boolean): void {
    const path = PATHS[stream];
    if (path === undefined) {
      return;
    }
    const requests = this.#now.get(path) ?? new Map<string, Requests>();
    this.#now.delete(path);
    if (!succeeded) {
      return;
    }
    // A poll without a baseline has one question.
    const [only, second] = requests;
    if (only !== undefined && second === undefined) {
      const [question, { answers, hadRows }] = only;
      if (answers === 1 && !hadRows && this.#before.get(path)?.get(question)?.hadRows === true) {
        this.#report(`an answer without rows to ${path}?${question} was not requested again`);
      }
    }
    this.#before.set(path, requests);
  }
}
