/** A report as a table for terminals, as CSV and as JSON. All have the same columns. */
import { ABSENT, createFormatter, printable, recordOf } from '../base/output.ts';
import type { RawRecord } from '../base/model.ts';
import { DAY_MS } from '../base/duration.ts';
import type { ReportOptions } from './plan.ts';
import { dateText } from './periods.ts';
import { withTotals } from './rows.ts';
import type { ReportRow, Section } from './rows.ts';

type Columns = Readonly<
  Record<string, (row: ReportRow, section: Section) => string | number | undefined>
>;

/** What tells the rows of a customer apart. */
const PARTS: Readonly<Record<ReportOptions['by'], Columns>> = {
  customer: {},
  branch: { branch: (_, { key }) => key, branch_name: (_, { name }) => name },
  device: { device: (_, { key }) => key },
};
const COUNTS: Columns = {
  period_start: ({ period }) => period.start,
  period_end: ({ period }) => period.end,
  entered: ({ entered }) => entered,
  exited: ({ exited }) => exited,
  visits: ({ visits }) => visits,
  logins: ({ logins }) => logins,
};
const STAFFED: Columns = {
  entered_staffed: ({ enteredStaffed }) => enteredStaffed,
  entered_self_service: ({ enteredSelfService }) => enteredSelfService,
  hours_staffed: ({ hoursStaffed }) => hoursStaffed,
  hours_self_service: ({ hoursSelfService }) => hoursSelfService,
};
const DAYS: Columns = {
  days_open: ({ daysOpen }) => daysOpen,
  days_without_counts: ({ daysWithoutCounts }) => daysWithoutCounts?.length,
  note: ({ notes }) => notes.join('; '),
};

/** Returns the names of the columns, which depend on the options alone, and their values by row. */
function tabulate(sections: readonly Section[], { by, staffed }: ReportOptions) {
  const columns = Object.entries<Columns[string]>({
    customer: (_, { customer }) => customer,
    ...PARTS[by],
    ...COUNTS,
    ...(staffed ? STAFFED : {}),
    ...DAYS,
  });
  const records = sections.flatMap((section) =>
    section.rows.map((row): RawRecord =>
      columns.map(([, valueOf]) => valueOf(row, section) ?? null),
    ),
  );
  return { names: columns.map(([name]) => name), records };
}

/** Returns CSV (RFC 4180) with a head, and empty fields for what is unknown. */
export function csvReport(sections: readonly Section[], options: ReportOptions): string {
  const { names, records } = tabulate(sections, options);
  return createFormatter('csv', names, options.separator)(records);
}

/** Returns a JSON array of rows. Each has the dates of its days without counts, too. */
export function jsonReport(sections: readonly Section[], options: ReportOptions): string {
  const { names, records } = tabulate(sections, options);
  const rows = sections.flatMap((section) => section.rows);
  const lines = records.map((record, i) => {
    const dates = rows[i]?.daysWithoutCounts ?? null;
    return `\n${printable(JSON.stringify({ ...recordOf(names, record), dates_without_counts: dates }))}`;
  });
  return `[${lines.join()}]\n`;
}

/** Returns a table for terminals with totals and without columns that are empty, and below it the days without counts. */
export function tableReport(sections: readonly Section[], options: ReportOptions): string {
  const { names, records } = tabulate(withTotals(sections), options);
  const isUsed = names.map((_, i) => records.some((record) => (record[i] ?? '') !== ''));
  const shown = records.map((record) =>
    record.filter((_, i) => isUsed[i]).map((value) => value ?? ABSENT),
  );
  const head = names.filter((_, i) => isUsed[i]);
  const note = options.note === '' ? '' : `\n${options.note}\n`;
  return createFormatter('table', head)(shown) + gapList(sections) + note;
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
  const part = name === key || name === undefined || key === undefined ? key : `${name} (${key})`;
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
