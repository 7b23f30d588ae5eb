/** All rows of a question: one aggregation, or every page of raw records. */
import type { Aggregation, Endpoint, RawRecord, ResponseMetadata, Window } from '../base/model.ts';
import { printable } from '../base/output.ts';
import { Secret } from '../base/secret.ts';
import type { ServiceClient } from './types.ts';

interface Question {
  readonly endpoint: Endpoint;
  /** Raw records without. */
  readonly aggregation?: Aggregation;
  /** Records a page. */
  readonly limit: number;
  /** Of the first page. */
  readonly startToken?: string;
  readonly includePatronFields: boolean;
}

/** Of one response. */
export interface Rows {
  readonly rows: readonly RawRecord[];
  readonly metadata: ResponseMetadata;
  readonly aggregation?: string;
  /** Of the next page; undefined after the last one. */
  readonly startToken?: Secret | undefined;
}

const MAX_EMPTY_PAGES = 10;

/**
 * Yields the rows of each response; pages may be empty. Throws an Error if the pages never end or repeat, and if the
 * service forces another aggregation: after its rows, where an aggregation was asked for.
 */
export async function* readAll(
  client: ServiceClient,
  { endpoint, aggregation, limit, includePatronFields, startToken: first }: Question,
  window: Window,
  signal: AbortSignal,
): AsyncGenerator<Rows> {
  if (aggregation !== undefined) {
    const answer = await client.query({ endpoint, aggregation, ...window }, signal);
    const rows = answer.rows.map(({ key, counts }) => [key, ...counts]);
    yield { rows, metadata: answer.metadata ?? {}, aggregation: answer.aggregation };
    if (answer.aggregation !== aggregation) {
      throw forced(answer.aggregation, `the aggregation "${aggregation}"`);
    }
    return;
  }
  /** A service that repeats pages may give them new tokens. */
  const firstIds = new Set<RawRecord[number]>();
  let emptyPages = 0;
  let startToken = first === undefined ? undefined : new Secret(first);
  do {
    const start = startToken === undefined ? {} : { startToken };
    const question = { endpoint, limit, includePatronFields, ...window, ...start };
    const page = await client.page(question, signal);
    if (page.aggregation !== undefined) {
      throw forced(page.aggregation, 'raw records');
    }
    const [id] = page.records[0] ?? [];
    emptyPages = id === undefined ? emptyPages + 1 : 0;
    if (emptyPages > MAX_EMPTY_PAGES || (id !== undefined && firstIds.has(id))) {
      throw new Error(`the service returned ${id === undefined ? 'empty pages' : 'a page twice'}`);
    }
    firstIds.add(id ?? '');
    ({ startToken } = page);
    yield { rows: page.records, metadata: page.metadata, startToken };
  } while (startToken !== undefined);
}

function forced(given: string, asked: string): Error {
  return new Error(
    `expected ${asked}, got the aggregation ${printable(JSON.stringify(given))}, which the service ` +
      'forces above 1 MB: choose a shorter time, a coarser aggregation or a smaller --limit',
  );
}
