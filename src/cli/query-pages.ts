/** Reads raw records page by page, with constant memory, and detects pages that never end. */
import { createHash } from 'node:crypto';
import { ServiceError } from '../base/errors.ts';
import type { PageQuestion, RawPage, RawRecord } from '../base/model.ts';
import type { Secret } from '../base/secret.ts';
import type { ServiceClient } from '../service/types.ts';
import { printable } from './output.ts';

/** An error to be thrown when the service does not return what was requested. */
export class PagingError extends Error {
  override readonly name = 'PagingError';
}

const MAX_HALVINGS = 10;
const MAX_EMPTY_PAGES = 10;
const MAX_REMEMBERED_TOKENS = 10_000;

/** Yields the records of each page; some pages may be empty. Throws a ServiceError or a PagingError. */
export async function* readPages(
  client: ServiceClient,
  question: PageQuestion,
  notify: (sentence: string) => void,
  signal: AbortSignal,
): AsyncGenerator<readonly RawRecord[]> {
  const readPage = createPageReader(client, question, notify, signal);
  const isNewToken = createTokenMemory();
  let startToken: Secret | undefined;
  let emptyPages = 0;
  let firstId: RawRecord[number] | undefined;
  for (;;) {
    const page = await readPage(startToken);
    const [id] = page.records[0] ?? [];
    // The tokens of a service that does not understand them may all be different.
    if (id !== undefined && id === firstId) {
      throw new PagingError('the service returned the same page twice');
    }
    firstId = id;
    yield page.records;
    if (page.startToken === undefined) {
      return;
    }
    if (!isNewToken(page.startToken)) {
      throw new PagingError('the service returned the token of an earlier page');
    }
    emptyPages = page.records.length === 0 ? emptyPages + 1 : 0;
    if (emptyPages > MAX_EMPTY_PAGES) {
      throw new PagingError(`the service returned ${emptyPages} empty pages in a row`);
    }
    ({ startToken } = page);
  }
}

/** Reads the page at a token. Halves the limit as long as the service refuses it. */
function createPageReader(
  client: ServiceClient,
  question: PageQuestion,
  notify: (sentence: string) => void,
  signal: AbortSignal,
): (startToken?: Secret) => Promise<RawPage> {
  let { limit } = question;
  let halvings = 0;

  /** The page, or the reason why a smaller one may be possible. */
  async function tryOnce(startToken: Secret | undefined): Promise<RawPage | Error> {
    const withLimit = { ...question, limit, ...(startToken === undefined ? {} : { startToken }) };
    try {
      const page = await client.page(withLimit, signal);
      return page.aggregation === undefined
        ? page
        : new PagingError(
            `the service forced the aggregation ${printable(JSON.stringify(page.aggregation))} ` +
              `instead of a page of ${limit} records`,
          );
    } catch (error) {
      if (startToken === undefined && isLimitError(error)) {
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
          notify(`continuing with --limit=${limit}: ${refusal.message}`);
        }
        return outcome;
      }
      refusal ??= outcome;
      if (limit === 1 || halvings === MAX_HALVINGS) {
        throw refusal;
      }
      halvings += 1;
      limit = Math.floor(limit / 2);
    }
  };
}

/** The first request fails in this way if the service does not accept the limit. */
function isLimitError(error: unknown): error is ServiceError {
  return error instanceof ServiceError && [400, 413, 422].includes(error.status ?? 0);
}

/** Returns true for a token that is not among the last ones. Keeps hashes: a token may be kilobytes long. */
function createTokenMemory(): (token: Secret) => boolean {
  const seen = new Set<string>();
  return (token) => {
    const hash = createHash('sha256').update(token.reveal()).digest('base64');
    if (seen.has(hash)) {
      return false;
    }
    seen.add(hash);
    const [oldest] = seen;
    if (seen.size > MAX_REMEMBERED_TOKENS && oldest !== undefined) {
      seen.delete(oldest);
    }
    return true;
  };
}
