/**
 * Totals of months, from recordings of prometheus/rules. Counters restart with the month, so a month's total
 * is its last value, and that of the running month needs no recording.
 */
import { infoOf } from './queries.ts';
import type { Selection } from './queries.ts';

const ENTRIES = 'job_customer_branch_month:library_people_entered:total';
const LOGINS = 'job_customer_month:library_logins:total';
const MISSED = 'job_customer_branch_month:library_people_missed:count';
const LAST = 'job_customer_branch_month:library_people_entered:timestamp';
/** Usual counts that did not come: fewer are no gap in a month, and are often by chance in a small branch. */
const MANY = 50;
/** Seconds: no month begins before, and none ends later on its last day. */
const HALF_A_DAY = 43_200;
/** A day from 06:00 on: days of libraries begin at 04:00, and their recordings are there an hour later. */
const DAY_START = 'offset -6h';
const DAY_END = 'offset -30h';

/** A value of each month, by site or by library. */
interface Months {
  readonly by: string;
  /** Of all months in the time range. */
  readonly all: string;
  /** Of the running month. */
  readonly running: string;
}

/** Entries of each month by site. */
export function entriesOfMonths(of: Selection): Months {
  const by = 'customer, branch';
  const branches = recent('library_branch_people_entered_total', of.sites, by);
  const libraries = recent('library_people_entered_total', of.customers, 'customer');
  const running = withMonth(of, `(${branches} or on (customer) ${libraries})`);
  return { by, running, all: `(${running} or ${recorded(ENTRIES, of.sites, by)})` };
}

/** Logins of each month by library. */
export function loginsOfMonths(of: Selection): Months {
  const by = 'customer';
  const running = withMonth(of, recent('library_logins_total', of.customers, by));
  return { by, running, all: `(${running} or ${recorded(LOGINS, of.customers, by)})` };
}

/** Entries since the month started, by site; `when` as in `offset 365d`. */
export function enteredThisMonth({ sites, customers }: Selection, when = ''): string {
  const modifier = when === '' ? '' : ` ${when}`;
  const branches = `max by (customer, branch) (library_branch_people_entered_total{${sites}}${modifier})`;
  return `(${branches} or on (customer) max by (customer) (library_people_entered_total{${customers}}${modifier}))`;
}

/** A value of the libraries that have the chosen label. */
export function withLabel({ info }: Selection, value: string): string {
  return `(${value} and on (customer) ${recent('library_site_info', info, 'customer')})`;
}

/** The last value of a day: a month goes on while an exporter does not answer. */
function recent(metric: string, matchers: string, by: string): string {
  return `max by (${by}) (last_over_time(${metric}{${matchers}}[1d]))`;
}

/** The greatest value of each month that began within the time range, or in the middle of which it begins. */
function recorded(metric: string, matchers: string, by: string): string {
  const value = `max by (${by}, month) (max_over_time(${metric}{${matchers}}[$__range]))`;
  const start = '@ ${__from:date:seconds}';
  const series = `${metric}{${matchers}}[2h]`;
  const before = `max by (${by}, month) (last_over_time(${series} ${start}))`;
  const later = `max by (${by}, month) (last_over_time(${series} ${start} offset -15d))`;
  return `(${value} unless (${before} unless ${later}))`;
}

/** The label `month` of the running month, as in 2026-11. */
function withMonth(of: Selection, value: string): string {
  const start = recent('library_period_start_timestamp_seconds', of.customers, 'customer');
  const local = `(${start} + ${utcOffset(of)})`;
  const number = `count_values by (customer) ("month", 100 * year(${local}) + month(${local}))`;
  const month = `label_replace(${number}, "month", "$1-$2", "month", "(....)(..)")`;
  return `${value} * on (customer) group_left (month) ${month}`;
}

function utcOffset(of: Selection): string {
  return recent('library_utc_offset_seconds', of.customers, 'customer');
}

/**
 * Sums by the labels `row`, `month` and `year`. A row is what the variable `rows` says. Months and years have
 * words: the running month is one `so far`; a month has `gaps` where a site was not counted for a time; a
 * year has so many months.
 */
export function byRowAndMonth(of: Selection, { by, all, running }: Months): string {
  const value = by === 'customer' ? inGroup(of, all) : inRow(of, all);
  const named = `label_join(sum by ($rows, month) (${value}), "row", " / ", "group", "customer", "name")`;
  const inRows = `label_replace(${named}, "row", "$1", "row", "(?: / )*(.*?)(?: / )*")`;
  // A shorter way to all months than the totals of all sites.
  const months = by === 'customer' ? all : `${running} or ${lastOfMonths(of)}`;
  const marked = [
    mark(running, ' so far'),
    mark(`${missedByMonth(of)} or ${lackingDays(of)}`, ' gaps'),
    mark(months, ''),
  ].join(' or on (month) ');
  const number = `count_values by (year) ("months", count by (year) (${yearOf(`group by (month) (${months})`)}))`;
  const numbered = `label_join(${yearOf(marked)} * on (year) group_left (months) ${number}, "year", ", ", "year", "months")`;
  const words = `label_replace(${numbered}, "year", "$1 months", "year", "(.+)")`;
  return (
    'sum by (row, year, month) (label_join(' +
    `${inRows} * on (month) group_left (mark, year) ${words}, "month", "", "month", "mark"))`
  );
}

function yearOf(months: string): string {
  return `label_replace(${months}, "year", "$1", "month", "(....).*")`;
}

function mark(months: string, words: string): string {
  return `label_replace(group by (month) (${months}), "mark", "${words}", "", "")`;
}

/** A value of sites with every label that a row may have: of the branch its `name`, and `group`. */
export function inRow(of: Selection, value: string): string {
  return inGroup(of, withName(of, value));
}

/** A value of sites with the label `name` of the branch, as `named`, of the last day. */
export function withName(of: Selection, value: string): string {
  const names = recent('library_site_info', infoOf(of), 'customer, branch, name');
  return `(${value}) * on (customer, branch) group_left (name) topk by (customer, branch) (1, ${names})`;
}

/** The label `group`: the value of the chosen label, such as a region. */
function inGroup({ info }: Selection, value: string): string {
  const groups = `topk by (customer) (1, ${recent('library_site_info', info, 'customer, $label')})`;
  return `(${value}) * on (customer) group_left (group) label_replace(${groups}, "group", "$1", "$label", "(.*)")`;
}

/**
 * Entries of the day that begins at each time, by site: the month's total at its end without that at its start,
 * which may be older where an exporter did not answer. A month that begins within the day has none; a site
 * that is new has no day.
 */
export function entriesOfDays({ sites }: Selection): string {
  const total = `${ENTRIES}{${sites}}`;
  const by = 'customer, branch';
  const end = `max by (${by}, month) (last_over_time(${total}[1d] ${DAY_END}))`;
  const start = `max by (${by}, month) (last_over_time(${total}[31d] ${DAY_START}))`;
  const known = `group by (${by}) (last_over_time(${total}[2d] ${DAY_START}))`;
  return `sum by (${by}) (${end} - ${start} or ${end} and on (${by}) ${known})`;
}

/** The greatest total of a month of five weeks, by site, at the end of the time range. */
export function largestMonth({ sites }: Selection): string {
  return `max by (customer, branch) (max_over_time(${ENTRIES}{${sites}}[5w] @ end()))`;
}

/** About how many people were missed in a month, by site: of the longest time without a count. */
export function missedByMonth(of: Selection): string {
  return `(max by (customer, branch, month) (max_over_time(${MISSED}{${of.sites}}[$__range])) >= ${MANY})`;
}

/** When the last values of a month were, by site, if that was before its last day. */
export function endedEarly(of: Selection): string {
  const last = `max by (customer, branch, month) (${lastOfMonths(of)})`;
  return `(${last} and ${lackingDays(of)})`;
}

/** A series for each site and month that is over, and whose last day has no values. */
function lackingDays(of: Selection): string {
  const last = `max by (customer, branch, month) (${lastOfMonths(of)})`;
  const nextDay = `${last} + on (customer) group_left () ${utcOffset(of)} + ${HALF_A_DAY}`;
  const running = `max by (customer, branch, month) (last_over_time(${LAST}{${of.sites}}[5h]))`;
  return `(day_of_month(${nextDay}) > 1 unless ${running})`;
}

/** Months in which there were values, as seconds of the Unix time of the last ones. */
function lastOfMonths({ sites }: Selection): string {
  return `max_over_time(${LAST}{${sites}}[$__range])`;
}
