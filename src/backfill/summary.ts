/** What `backfill` prints at its end. */
import { MINUTE_STREAMS } from '../base/model.ts';
import type { MinuteStream, RawRecord } from '../base/model.ts';
import { counted, createFormatter } from '../base/output.ts';
import type { PastCounts } from '../counting/past/read-past.ts';

/** The service's totals of a month. */
export type Totals = Readonly<Partial<Record<MinuteStream, Pick<PastCounts, 'sums' | 'byDay'>>>>;

export interface WrittenMonth {
  readonly month: string;
  /** False if there was no data. */
  readonly hasFile: boolean;
  readonly samples: number;
  /** By name, in the order of the configuration. */
  readonly customers: ReadonlyMap<string, Totals>;
}

/** Returns a row for each month and customer, and the command that makes blocks of the files. */
export function summaryOf(months: readonly WrittenMonth[], folder: string): string {
  const columns = ['month', 'customer', 'entered', 'exited', 'logins', 'day'];
  const rows = months.flatMap(({ month, customers }) =>
    Array.from(customers, ([name, totals]) => [month, name, ...totalsRow(totals)]),
  );
  const samples = months.reduce((sum, month) => sum + month.samples, 0);
  const files = months.filter(({ hasFile }) => hasFile).length;
  return [
    createFormatter('table', columns)(rows),
    `${samples} samples in ${counted(files, 'file')} in ${folder}\n`,
    months.length > 0 && files === 0
      ? 'The service has no data of this time.\n'
      : nextCommand(folder),
  ].join('');
}

/** The totals by minute, and whether those by day are the same. */
function totalsRow(totals: Totals): RawRecord {
  const [entered = null, exited = null] = totals.people?.sums ?? [];
  const [logins = null] = totals.logins?.sums ?? [];
  const differences = MINUTE_STREAMS.flatMap((stream) => {
    const { sums = [], byDay = [] } = totals[stream] ?? {};
    return sums.map((sum, i) => (byDay[i] ?? 0) - sum);
  });
  const agrees = differences.every((difference) => difference === 0);
  return [entered, exited, logins, agrees ? 'agrees' : differences.join()];
}

function nextCommand(folder: string): string {
  const quoted = `'${folder.replaceAll("'", String.raw`'\''`)}'`;
  return `Next, make blocks for Prometheus (docs/backfill.md):
  for month in ${quoted}/*.om; do promtool tsdb create-blocks-from --max-block-duration=162h openmetrics "$month" blocks; done
`;
}
