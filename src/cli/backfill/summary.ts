/** What a backfill has come to, for a person: a line for each customer and month. Pure. */
import { ALL_COUNTERS } from '../../base/model.ts';
import type { RawRecord } from '../../base/model.ts';
import { createFormatter } from '../query/formats.ts';
import { counted } from '../words.ts';
import type { Manifest, PartRecord } from './manifest.ts';

const COLUMNS = ['customer', 'month', 'entered', 'exited', 'logins', 'day', 'samples'] as const;

/** `months` are those of this backfill, in their order. */
export function summaryText(
  { months: records }: Manifest,
  months: readonly string[],
  customers: readonly string[],
  folder: string,
): string {
  const format = createFormatter({ format: 'table', columns: COLUMNS, forTerminal: true });
  const rows = customers.flatMap((customer) =>
    months.flatMap((month): RawRecord[] => {
      const part = records[month]?.parts[customer];
      return part === undefined ? [] : [rowOf(customer, month, part)];
    }),
  );
  const written = months.flatMap((month) => records[month] ?? []);
  const parts = written.flatMap((record) => Object.values(record.parts));
  const samples = parts.reduce((sum, part) => sum + part.samples, 0);
  const bytes = written.reduce((sum, record) => sum + record.bytes, 0);
  const differing = parts.filter((part) => !agrees(part)).length;
  return [
    rows.length === 0 ? '' : format(rows),
    `${samples} samples in ${counted(written.length, 'file')} in ${folder}, ${Math.ceil(bytes / 1_000_000)} MB\n`,
    differing === 0 ? '' : DIFFERENCES,
  ].join('');
}

const DIFFERENCES =
  'Where day is not "agrees", the service says something else by day than by minute, as by how much in the\n' +
  'columns before it: the minutes were taken. It may have days that are not rolled up yet, or count whole days\n' +
  'of another clock; or records came while it was asked.\n';

function rowOf(customer: string, month: string, part: PartRecord): RawRecord {
  const { totals, samples } = part;
  return [
    customer,
    month,
    ...ALL_COUNTERS.map((kind) => totals[kind]?.byMinute ?? null),
    agrees(part) ? 'agrees' : differenceText(part),
    samples,
  ];
}

function agrees({ totals }: PartRecord): boolean {
  return Object.values(totals).every(({ byMinute, byDay }) => byMinute === byDay);
}

/** By how much `day` is above or below the minutes: `+12,0,-3`. */
function differenceText({ totals }: PartRecord): string {
  return ALL_COUNTERS.map((kind) => {
    const { byMinute, byDay } = totals[kind] ?? { byMinute: 0, byDay: 0 };
    const difference = byDay - byMinute;
    return difference > 0 ? `+${difference}` : String(difference);
  }).join(',');
}
