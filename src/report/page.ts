/** A report as one HTML file without scripts or other resources: a chart and a table of each library. */
import { Temporal } from 'temporal-polyfill';
import { DAY_MS } from '../base/duration.ts';
import { formatNumber, html, renderPage, renderTable } from '../base/html.ts';
import type { Column, Content, Html } from '../base/html.ts';
import { gapsOf, titleOf } from './columns.ts';
import { dateText, yearBefore } from './periods.ts';
import type { PeriodName } from './periods.ts';
import type { ReportOptions } from './plan.ts';
import { sumBy, withTotals } from './rows.ts';
import type { ReportRow, Section } from './rows.ts';

/** More bars would be thinner than a line. */
const MAX_BARS = 400;
const MAX_LABELS = 14;
/** Sections with more rows may be cut by the end of a page. */
const MAX_ROWS_KEPT_TOGETHER = 18;

const LONG_DATE = dateFormat({ dateStyle: 'long' });
const MONTH = dateFormat({ month: 'long', year: 'numeric' });
const WEEKDAY = dateFormat({ weekday: 'short' });

/** Dates are midnights in UTC. */
function dateFormat(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' });
}

/** Returns the whole document. `nowMs` is shown as the time at which it was made. */
export function htmlReport(
  sections: readonly Section[],
  options: ReportOptions,
  nowMs: number,
): string {
  const { from, to } = options.range;
  const title = `Visits, ${LONG_DATE.format(from)} to ${LONG_DATE.format(to - DAY_MS)}`;
  const visits =
    options.visits === 'mean' ? 'Visits are half of entries and exits.' : 'Visits are entries.';
  const body = html`<h1>${title}</h1>
    <p class="soft">${visits} Made on ${LONG_DATE.format(nowMs)}. ${options.note}</p>
    ${sections.length > 1 ? overview(withTotals(sections)) : ''}
    ${sections.map((section) => sectionHtml(section, options))}`;
  return renderPage(title, 'report', html``, body);
}

function overview(sections: readonly Section[]): Html {
  const rows = sections.map((section) => ({ title: titleOf(section), ...totalOf(section.rows) }));
  const logins: Column<(typeof rows)[number]> = {
    title: 'Logins',
    cell: (row) => number(row.logins),
  };
  const columns: readonly Column<(typeof rows)[number]>[] = [
    { title: 'Library', cell: ({ title }) => title },
    { title: 'Visits', cell: ({ visits }) => number(visits) },
    ...(rows.some((row) => row.logins !== undefined) ? [logins] : []),
    {
      title: 'Days without counts',
      cell: ({ gaps }) => (gaps === undefined ? '' : gapsText(gaps)),
    },
  ];
  return html`<section class="short names">
    <h2>All libraries</h2>
    ${renderTable('All libraries', columns, rows)}
  </section> `;
}

/** A row, and the same period of the year before where the report has it. */
interface Pair {
  readonly row: ReportRow;
  readonly before: ReportRow | undefined;
}

function sectionHtml(section: Section, options: ReportOptions): Html {
  const { period } = options;
  const byStart = new Map(section.rows.map((row) => [row.period.start, row]));
  const pairs = section.rows.map((row): Pair => {
    const before = byStart.get(yearBefore(period, row.period.start) ?? '');
    const isComparable = row.period.cut.length === 0 && before?.period.cut.length === 0;
    return { row, before: isComparable ? before : undefined };
  });
  const gaps = gapsOf(section);
  const className = section.rows.length <= MAX_ROWS_KEPT_TOGETHER ? 'short' : '';
  return html`<section class="${className}">
    <div class="top">
      <h2>${titleOf(section)}</h2>
      ${chart(pairs, period)}
    </div>
    ${renderTable(titleOf(section), columnsOf(pairs, options), pairs)}
    ${gaps.length === 0 ? '' : html`<p><b class="bad">Days without counts:</b> ${gaps.join(', ')}</p>`}
  </section> `;
}

function chart(all: readonly Pair[], period: PeriodName): Content {
  const withBefore = all.filter(({ before }) => before !== undefined);
  const pairs = withBefore.length > 1 ? withBefore : all;
  const values = pairs.flatMap(({ row, before }) => [valueOf(row), before ? valueOf(before) : 0]);
  const top = niceTop(Math.max(...values, 1));
  if (pairs.length > MAX_BARS || pairs.length < 2) {
    return '';
  }
  const step = Math.ceil(pairs.length / MAX_LABELS);
  const bars = pairs.map(({ row, before }, i) => {
    const [height, earlier] = [share(valueOf(row), top), before && share(valueOf(before), top)];
    const highest = Math.max(height, earlier ?? 0) / 100;
    return html`<div class="bar ${gapsIn(row) > 0 ? 'lacks' : ''}" style="--top: ${highest}">
      ${earlier === undefined ? '' : html`<i class="before" style="height: ${earlier}%"></i>`}
      <i class="${row.period.cut.length > 0 ? 'part' : ''}" style="height: ${height}%"></i>
      ${i % step === 0 ? html`<small>${shortLabel(row, period, i === 0)}</small>` : ''}
    </div>`;
  });
  const hasBefore = pairs.some(({ before }) => before !== undefined);
  const hasPart = pairs.some(({ row }) => row.period.cut.length > 0);
  const hasGaps = pairs.some(({ row }) => gapsIn(row) > 0);
  return html`<p class="key">
      <span><i></i> visits</span>
      ${hasBefore ? html`<span><i class="before"></i> the year before</span>` : ''}
      ${hasPart ? html`<span><i class="part"></i> part of a period</span>` : ''}
      ${hasGaps ? html`<span><b class="bad">▼</b> days without counts</span>` : ''}
    </p>
    <div class="chart" role="img" aria-label="Bar chart of visits; the table has the numbers">
      <small class="scale" style="top: 0">${number(top)}</small>
      <small class="scale" style="top: 4.75rem">${number(top / 2)}</small>
      <div class="plot" style="--bars: ${pairs.length}">${bars}</div>
    </div>`;
}

/** Percent of the chart's height. */
function share(value: number, top: number): number {
  return Math.round((1_000 * value) / top) / 10;
}

/** Returns the next number above a value with one or two digits and zeros, and an even half. */
function niceTop(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10].find((one) => one * unit >= value) ?? 10;
  return Math.max(2, Math.round(factor * unit));
}

function valueOf({ visits, logins }: ReportRow): number {
  return visits ?? logins ?? 0;
}

function columnsOf(
  pairs: readonly Pair[],
  { period, visits }: ReportOptions,
): readonly Column<Pair>[] {
  const rows = pairs.map(({ row }) => row);
  function counts(
    title: string,
    value: (row: ReportRow) => number | undefined,
    style?: 'minor',
  ): readonly Column<Pair>[] {
    const total = sumBy(rows, value);
    return total === undefined
      ? []
      : [{ title, style, cell: ({ row }) => number(value(row)), total: number(total) }];
  }
  const comparison: readonly Column<Pair>[] = [
    {
      title: 'Year before',
      style: 'minor',
      cell: ({ before }) => (before ? number(valueOf(before)) : ''),
    },
    { title: 'Change', cell: changeOf },
  ];
  const gaps: Column<Pair> = {
    title: 'Without counts',
    cell: ({ row }) => gapsText(gapsIn(row)),
    total: gapsText(totalOf(rows).gaps ?? 0),
  };
  const notes: Column<Pair> = {
    title: '',
    style: 'note',
    cell: ({ row }) => row.notes.join('; '),
  };
  return [
    { title: 'Period', cell: ({ row }) => longLabel(row, period), total: 'Total' },
    ...counts('Visits', (row) => row.visits),
    ...(pairs.some(({ before }) => before !== undefined) ? comparison : []),
    ...(visits === 'mean' ? counts('Entered', (row) => row.entered, 'minor') : []),
    ...counts('Exited', (row) => row.exited, 'minor'),
    ...counts('Logins', (row) => row.logins),
    ...counts('Staffed', (row) => row.enteredStaffed),
    ...counts('Self-service', (row) => row.enteredSelfService),
    ...counts('Staffed hours', (row) => row.hoursStaffed, 'minor'),
    ...counts('Self-service hours', (row) => row.hoursSelfService, 'minor'),
    ...(period === 'day' ? [] : counts('Days open', (row) => row.daysOpen, 'minor')),
    ...(totalOf(rows).gaps === undefined ? [] : [gaps]),
    ...(rows.some((row) => row.notes.length > 0) ? [notes] : []),
  ];
}

function gapsIn({ daysWithoutCounts = [] }: ReportRow): number {
  return daysWithoutCounts.length;
}

function gapsText(gaps: number): Html {
  return gaps === 0 ? html`0` : html`<b class="bad">${gaps}</b>`;
}

function totalOf(rows: readonly ReportRow[]) {
  return {
    visits: sumBy(rows, ({ visits }) => visits),
    logins: sumBy(rows, ({ logins }) => logins),
    gaps: sumBy(rows, ({ daysWithoutCounts }) => daysWithoutCounts?.length),
  };
}

function changeOf({ row, before }: Pair): string {
  const earlier = before ? valueOf(before) : 0;
  if (earlier === 0) {
    return '';
  }
  const percent = (100 * (valueOf(row) - earlier)) / earlier;
  return `${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(1)} %`;
}

/** Returns a number; nothing for what is unknown. */
function number(value: number | undefined): string {
  return value === undefined ? '' : formatNumber(value);
}

function longLabel({ period: { start, end, cut } }: ReportRow, period: PeriodName): string {
  const date = new Date(start.slice(0, 10));
  const isCut = cut.some((one) => one !== 'not over yet');
  switch (period) {
    case 'hour':
      return `${start.slice(0, 10)} ${start.slice(11, 16)}`;
    case 'day':
      return `${WEEKDAY.format(date)} ${start}`;
    case 'week':
      return isCut ? daysText(start, end) : isoWeek(start);
    case 'month':
      return isCut ? daysText(start, end) : MONTH.format(date);
    case 'year':
      return daysText(start, end);
  }
}

function shortLabel(
  { period: { start } }: ReportRow,
  period: PeriodName,
  isFirst: boolean,
): string {
  const date = new Date(start.slice(0, 10));
  const month = MONTH.format(date).slice(0, 3);
  switch (period) {
    case 'hour':
      return start.slice(11, 13);
    case 'day':
      return isFirst || date.getUTCDate() === 1
        ? `${date.getUTCDate()} ${month}`
        : String(date.getUTCDate());
    case 'week':
      return isoWeek(start).slice(5);
    case 'month':
      return month;
    case 'year':
      return start.slice(0, 4);
  }
}

function daysText(start: string, end: string): string {
  return `${start} to ${dateText(Date.parse(end) - DAY_MS)}`;
}

/** Returns the week of a date, as `2025-W03`. */
function isoWeek(date: string): string {
  const { yearOfWeek, weekOfYear } = Temporal.PlainDate.from(date);
  return `${yearOfWeek}-W${String(weekOfYear).padStart(2, '0')}`;
}
