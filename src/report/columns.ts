/** A report as a table for terminals, as CSV and as JSON. All have the same columns. */
import { ABSENT, createFormatter, printable } from '../base/output.ts';
import type { RawRecord } from '../base/model.ts';
import { DAY_MS } from '../base/duration.ts';
import type { ReportOptions } from './plan.ts';
import { dateText } from './periods.ts';
import type { ReportRow, Section } from './rows.ts';

type Value = string | number | undefined;

interface Column {
  readonly name: string;
  readonly valueOf: (row: ReportRow, section: Section) => Value;
}

const CUSTOMER: Column = { name: 'customer', valueOf: (_, { customer }) => customer };
const BRANCH: readonly Column[] = [
  { name: 'branch', valueOf: (_, { key }) => key },
  { name: 'branch_name', valueOf: (_, { name }) => name },
];
const DEVICE: Column = { name: 'device', valueOf: (_, { key }) => key };
const COUNTS: readonly Column[] = [
  { name: 'period_start', valueOf: ({ period }) => period.start },
  { name: 'period_end', valueOf: ({ period }) => period.end },
  { name: 'entered', valueOf: ({ entered }) => entered },
  { name: 'exited', valueOf: ({ exited }) => exited },
  { name: 'visits', valueOf: ({ visits }) => visits },
  { name: 'logins', valueOf: ({ logins }) => logins },
];
const STAFFED: readonly Column[] = [
  { name: 'entered_staffed', valueOf: ({ enteredStaffed }) => enteredStaffed },
  { name: 'entered_self_service', valueOf: ({ enteredSelfService }) => enteredSelfService },
  { name: 'hours_staffed', valueOf: ({ hoursStaffed }) => hoursStaffed },
  { name: 'hours_self_service', valueOf: ({ hoursSelfService }) => hoursSelfService },
];
const DAYS: readonly Column[] = [
  { name: 'days_open', valueOf: ({ daysOpen }) => daysOpen },
  { name: 'days_without_counts', valueOf: ({ daysWithoutCounts }) => daysWithoutCounts?.length },
  { name: 'note', valueOf: ({ notes }) => notes.join('; ') },
];

/** Returns the columns of CSV and JSON, which depend on the options alone. */
function columnsOf({ by, staffed }: ReportOptions): readonly Column[] {
  const keys = by === 'device' ? [DEVICE] : BRANCH;
  return [CUSTOMER, ...keys, ...COUNTS, ...(staffed ? STAFFED : []), ...DAYS];
}

/** Returns CSV (RFC 4180) with a head, dots as decimal separators, and empty fields for what is unknown. */
export function csvReport(sections: readonly Section[], options: ReportOptions): string {
  const columns = columnsOf(options);
  const names = columns.map(({ name }) => name);
  return createFormatter('csv', names)(recordsOf(sections, columns));
}

/** Returns a JSON array of rows. Each has the dates of its days without counts, too. */
export function jsonReport(sections: readonly Section[], options: ReportOptions): string {
  const columns = columnsOf(options);
  const rows = sections.flatMap((section) =>
    section.rows.map((row) => ({
      ...Object.fromEntries(
        columns.map(({ name, valueOf }) => [name, valueOf(row, section) ?? null]),
      ),
      dates_without_counts: row.daysWithoutCounts ?? null,
    })),
  );
  return `[${rows.map((row) => `\n${printable(JSON.stringify(row))}`).join()}]\n`;
}

/** Returns a table for terminals without columns that are empty, and below it the days without counts. */
export function tableReport(sections: readonly Section[], options: ReportOptions): string {
  const all = columnsOf(options);
  const records = recordsOf(sections, all);
  const isUsed = all.map((_, i) => records.some((record) => (record[i] ?? '') !== ''));
  const names = all.filter((_, i) => isUsed[i]).map(({ name }) => name);
  const shown = records.map((record) =>
    record.filter((_, i) => isUsed[i]).map((value) => value ?? ABSENT),
  );
  return createFormatter('table', names)(shown) + gapList(sections);
}

function recordsOf(sections: readonly Section[], columns: readonly Column[]): readonly RawRecord[] {
  return sections.flatMap((section) =>
    section.rows.map((row) => columns.map(({ valueOf }) => valueOf(row, section) ?? null)),
  );
}

function gapList(sections: readonly Section[]): string {
  const lines = sections.flatMap((section) => {
    const gaps = gapsOf(section);
    return gaps.length === 0 ? [] : [`  ${printable(titleOf(section))}: ${gaps.join(', ')}\n`];
  });
  return lines.length === 0 ? '' : `\nDays without counts:\n${lines.join('')}`;
}

/** Returns what a section is called. */
export function titleOf({ customer, key, name }: Section): string {
  const part = name === undefined || name === key ? key : `${name} (${key})`;
  return part === undefined ? customer : `${customer}, ${part}`;
}

/** Returns the days without counts of all periods, successive ones as `2025-03-04 to 2025-03-08`. */
export function gapsOf({ rows }: Section): readonly string[] {
  const dates = [...new Set(rows.flatMap(({ daysWithoutCounts = [] }) => daysWithoutCounts))];
  const runs: [first: string, last: string][] = [];
  for (const date of dates) {
    const run = runs.at(-1);
    if (run !== undefined && dateText(Date.parse(run[1]) + DAY_MS) === date) {
      run[1] = date;
    } else {
      runs.push([date, date]);
    }
  }
  return runs.map(([first, last]) => (first === last ? first : `${first} to ${last}`));
}
