/** A whole reading, from the first question to the last row. */
import type { AggregatedQuestion, PageQuestion } from '../../base/model.ts';
import type { ServiceClient } from '../../service/types.ts';
import { printable } from './formats.ts';
import type { Output } from './output.ts';
import { PagingError, readPages } from './pages.ts';

/** Who is asked, and where the rows go. */
export interface ReadOptions {
  readonly client: ServiceClient;
  readonly output: Output;
  /** Writes a sentence for the person who waits. */
  readonly tell: (sentence: string) => void;
  readonly signal: AbortSignal;
}

/** Reads raw records to the end, or until there are `maxRecords`. */
export async function readRaw(
  question: PageQuestion,
  maxRecords: number,
  options: ReadOptions,
): Promise<void> {
  const { output } = options;
  for await (const records of readPages({ ...options, question })) {
    await output.write(records.slice(0, maxRecords - output.rows()));
    if (output.rows() >= maxRecords) {
      return;
    }
  }
}

/**
 * Reads one aggregation. Another one than was asked for is shown as well, but is no success: who
 * reads the rows without the words would take them for what they are not.
 */
export async function readAggregated(
  question: AggregatedQuestion,
  options: ReadOptions,
): Promise<void> {
  const { client, output, signal } = options;
  const { aggregation, rows } = await client.query(question, signal);
  await output.write(rows.map(({ key, counts }) => [key, ...counts]));
  if (aggregation !== question.aggregation) {
    throw new PagingError(
      `the service gave the aggregation ${printable(JSON.stringify(aggregation))} in place of ` +
        `"${question.aggregation}", as it does above 1 MB: ask for a shorter time, or for a coarser aggregation`,
    );
  }
}
