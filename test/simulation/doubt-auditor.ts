/**
 * One process, by its questions: an answer without rows, where the same question had rows in the good
 * poll before, is asked again before it is believed. Nothing that is shown tells whether it was, for
 * the third one in a row is believed, and most come alone.
 */
import type { Stream } from '../../src/base/model.ts';
import type { SimulatedRequest, SimulatedResponse } from '../../src/simulator/responses.ts';
import type { DrawnWorld } from './drawn-world.ts';

const PATHS: Partial<Record<Stream, string>> = { people: '/v1/peoplecount', logins: '/v1/login' };

interface Asked {
  answers: number;
  hadRows: boolean;
}

export class DoubtAuditor {
  readonly #violated: (what: string) => void;
  readonly #isJudged: boolean;
  /** By path and query, what was asked in the poll under way, and in the good one before it. */
  readonly #now = new Map<string, Map<string, Asked>>();
  readonly #before = new Map<string, Map<string, Asked>>();

  constructor(world: DrawnWorld, violated: (what: string) => void) {
    this.#violated = violated;
    // Rows may say that nobody came, and the end of a poll does not say whose it was.
    this.#isJudged =
      world.conventions.emptyBuckets === 'omitted' &&
      world.conventions.corrections.share === 0 &&
      world.visitsPerDay.length === 1;
  }

  answered({ path, query }: SimulatedRequest, { status, body }: SimulatedResponse): void {
    const parameters = new URLSearchParams(query ?? {});
    if (!this.#isJudged || status !== 200 || parameters.get('aggregation') !== 'minute') {
      return;
    }
    const question = parameters.toString();
    const asked = this.#now.get(path) ?? new Map<string, Asked>();
    this.#now.set(path, asked);
    const { answers, hadRows } = asked.get(question) ?? { answers: 0, hadRows: false };
    const hasRows = !body.endsWith('"result":[]}');
    asked.set(question, { answers: answers + 1, hadRows: hadRows || hasRows });
  }

  pollEnded(stream: Stream, isGood: boolean): void {
    const path = PATHS[stream];
    if (path === undefined) {
      return;
    }
    const asked = this.#now.get(path) ?? new Map<string, Asked>();
    this.#now.delete(path);
    if (!isGood) {
      return;
    }
    // A poll without an anchor has one question.
    const [only, second] = asked;
    if (only !== undefined && second === undefined) {
      const [question, { answers, hadRows }] = only;
      if (answers === 1 && !hadRows && this.#before.get(path)?.get(question)?.hadRows === true) {
        this.#violated(`an answer without rows to ${path}?${question} was not asked again`);
      }
    }
    this.#before.set(path, asked);
  }
}
