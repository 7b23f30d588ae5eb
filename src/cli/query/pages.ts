/**
 * Raw records page by page to the end, with a memory that does not grow. What a service may do wrong
 * with its pages is noticed here; how a page is asked for and decoded is the service room's.
 */
import { createHash } from 'node:crypto';
import { ServiceError } from '../../base/errors.ts';
import type { PageQuestion, RawPage, RawRecord } from '../../base/model.ts';
import type { Secret } from '../../base/secret.ts';
import type { ServiceClient } from '../../service/types.ts';
import { printable } from './formats.ts';

/** An error to be thrown when the service's pages do not lead to an end. */
export class PagingError extends Error {
  override readonly name = 'PagingError';
}

export interface ReadPagesOptions {
  readonly client: ServiceClient;
  /** Writes a sentence for the person who waits. */
  readonly tell: (sentence: string) => void;
  readonly signal: AbortSignal;
  /** The first page. Its limit is halved as often as the service does not give pages so large. */
  readonly question: PageQuestion;
}

/** A thousandth of the limit at the last. */
const MOST_HALVINGS = 10;
const MOST_EMPTY_PAGES = 10;
/** Of the last so many pages, a repeated token is noticed. */
const TOKENS_REMEMBERED = 10_000;

/** The records of each page, some pages maybe empty. Throws a ServiceError or a PagingError. */
export async function* readPages(options: ReadPagesOptions): AsyncGenerator<readonly RawRecord[]> {
  const isNew = createMemory();
  const ask = createAsker(options);
  let startToken: Secret | undefined;
  let emptyPages = 0;
  let firstId: RawRecord[number] | undefined;
  for (;;) {
    const page = await ask(startToken);
    const [id] = page.records[0] ?? [];
    // Tokens of which none is like another do not help where they are not understood.
    if (id !== undefined && id === firstId) {
      throw new PagingError('the service gave the same page again in place of the next one');
    }
    firstId = id;
    yield page.records;
    if (page.startToken === undefined) {
      return;
    }
    if (!isNew(page.startToken)) {
      throw new PagingError(
        'the service gave the token of a page that was read already, which would never end',
      );
    }
    emptyPages = page.records.length === 0 ? emptyPages + 1 : 0;
    if (emptyPages > MOST_EMPTY_PAGES) {
      throw new PagingError(`the service gave ${emptyPages} empty pages that promise more`);
    }
    if (emptyPages === 1) {
      options.tell('a page is empty, and the service promises more: reading on');
    }
    ({ startToken } = page);
  }
}

/** Asks for the page at a token, with smaller limits where the service does not give it. */
function createAsker(options: ReadPagesOptions): (startToken?: Secret) => Promise<RawPage> {
  const { client, question, tell, signal } = options;
  let { limit } = question;
  let halvings = 0;

  /** The page, or the reason why a smaller one may be given. */
  async function tryOnce(startToken: Secret | undefined): Promise<RawPage | Error> {
    const asked = { ...question, limit, ...(startToken === undefined ? {} : { startToken }) };
    try {
      const page = await client.page(asked, signal);
      return page.aggregation === undefined ? page : forced(page.aggregation, limit);
    } catch (error) {
      if (startToken === undefined && mayMeanLimit(error)) {
        return error;
      }
      throw error;
    }
  }

  return async (startToken) => {
    let refusal: Error | undefined;
    for (;;) {
      const outcome = await tryOnce(startToken);
      if (!(outcome instanceof Error)) {
        if (refusal !== undefined) {
          tell(
            `no pages of ${question.limit} records (${refusal.message}): going on with ${limit}`,
          );
        }
        return outcome;
      }
      refusal ??= outcome;
      if (limit === 1 || halvings === MOST_HALVINGS) {
        throw refusal;
      }
      halvings += 1;
      limit = Math.floor(limit / 2);
    }
  };
}

function forced(aggregation: string, limit: number): PagingError {
  const name = printable(JSON.stringify(aggregation));
  return new PagingError(
    `the service forced the aggregation ${name} in place of a page of ${limit} records`,
  );
}

/** What else is wrong with a first question is wrong with a smaller limit as well, and told then. */
function mayMeanLimit(error: unknown): error is ServiceError {
  return error instanceof ServiceError && [400, 413, 422].includes(error.status ?? 0);
}

/** Whether a token was not met before. Its digest is kept: a token may be kilobytes long. */
function createMemory(): (token: Secret) => boolean {
  const met = new Set<string>();
  return (token) => {
    const digest = createHash('sha256').update(token.reveal()).digest('base64');
    if (met.has(digest)) {
      return false;
    }
    met.add(digest);
    for (const oldest of met) {
      if (met.size <= TOKENS_REMEMBERED) {
        break;
      }
      met.delete(oldest);
    }
    return true;
  };
}
