/** Totals by day and month, for the annual report. */
import { BarAlignment, BigValueTextMode } from '@grafana/grafana-foundation-sdk/common';
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { frame, librariesByLabel, rowsChoice } from './frame.ts';
import {
  byRowAndMonth,
  endedEarly,
  enteredThisMonth,
  entriesOfDays,
  entriesOfMonths,
  inRow,
  largestMonth,
  loginsOfMonths,
  missedByMonth,
  withLabel,
  withName,
} from './months.ts';
import { groupedBy, hourlyBars, now, overTime, stat } from './panels.ts';
import { trusted } from './problems.ts';
import {
  LABELLED_LIBRARIES as OF,
  comparable,
  customerGauge,
  info,
  labelled,
  summed,
} from './queries.ts';
import { matrix, table, withColumns } from './tables.ts';
import { dashFor, inColour, toCustomer } from './theme.ts';

/** Branches by name, and groups by the label that is chosen, such as a region. */
const ROWS = { libraries: 'customer', branches: 'customer, name', 'regions by label': 'group' };
/** The tables whose responses those of years use as well. */
const MONTHS_OF_ENTRIES = 6;
const MONTHS_OF_LOGINS = 7;
const OF_BRANCHES = '{{n}} of {{m}} branches';
const A_YEAR_AGO = 'offset 365d';
const WORDS =
  'The running month is one so far. In a month with gaps a branch was not counted for a time: see Months with missing counts.';

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryStatistics(): Dashboard {
  const dashboard = frame('library-statistics', 'Totals by day and month, for the annual report.')
    .time({ from: 'now-1y/y', to: 'now' })
    .refresh('15m');
  [...librariesByLabel(), rowsChoice(ROWS)].forEach((variable) => dashboard.withVariable(variable));
  return dashboard
    .withPanel(entriesThisMonth())
    .withPanel(againstLastYear())
    .withPanel(loginsThisMonth())
    .withPanel(loginsAgainstLastYear())
    .withPanel(perDay())
    .withPanel(
      perMonth(MONTHS_OF_ENTRIES, 'Entries by month', byRowAndMonth(OF, entriesOfMonths(OF))),
    )
    .withPanel(perMonth(MONTHS_OF_LOGINS, 'Logins by month', byRowAndMonth(OF, loginsOfMonths(OF))))
    .withPanel(perYear(8, 'Entries by year', MONTHS_OF_ENTRIES))
    .withPanel(perYear(9, 'Logins by year', MONTHS_OF_LOGINS))
    .withPanel(incomplete())
    .build();
}

function entriesThisMonth() {
  const { all, running } = entriesOfMonths(OF);
  const months = `group by (month) (${running})`;
  return stat(
    1,
    'Entries this month',
    'The sum of the running month in the table below, also of branches whose exporter does not answer now.',
  )
    .span(6)
    .textMode(BigValueTextMode.ValueAndName)
    .withTarget(now(summed(OF, withLabel(OF, `${all} and on (month) ${months}`)), OF_BRANCHES));
}

function againstLastYear() {
  const entered = enteredThisMonth(OF);
  const before = enteredThisMonth(OF, A_YEAR_AGO);
  return stat(
    2,
    'Month to date, against last year',
    'Entries of this month, and of the same days of the same month last year: of the branches that have both and no problem now.',
  )
    .span(6)
    .withTarget(now(summed(OF, trusted(OF, comparable(entered, before))), OF_BRANCHES))
    .withTarget(now(`sum(${trusted(OF, comparable(before, entered))})`, 'last year'))
    .overrideByName('last year', inColour('text'));
}

function loginsThisMonth() {
  const { all, running } = loginsOfMonths(OF);
  return stat(3, 'Logins this month', 'The sum of the running month in the table below.')
    .span(6)
    .textMode(BigValueTextMode.ValueAndName)
    .withTarget(
      now(
        ofLibraries(withLabel(OF, `${all} and on (month) group by (month) (${running})`)),
        OF_LIBRARIES,
      ),
    );
}

function loginsAgainstLastYear() {
  const total = `${customerGauge(OF, 'library_logins_total')}${labelled(OF)}`;
  const before = `${customerGauge(OF, 'library_logins_total', A_YEAR_AGO)}${labelled(OF)}`;
  return stat(
    4,
    'Logins, against last year',
    'Logins of this month, and of the same days of the same month last year: of the libraries that have both.',
  )
    .span(6)
    .withTarget(now(ofLibraries(`(${total} and on (customer) ${before})`), OF_LIBRARIES))
    .withTarget(now(`sum(${before} and on (customer) ${total})`, 'last year'))
    .overrideByName('last year', inColour('text'));
}

const OF_LIBRARIES = '{{n}} of {{m}} libraries';

/** A sum over libraries, with the labels `n` and `m`. */
function ofLibraries(value: string): string {
  return (
    `sum(${value}) * on () group_left (n) count_values("n", count(${value}))` +
    ` * on () group_left (m) count_values("m", count(${info(OF)} or ${info(OF, 'offset 1d')}))`
  );
}

function perDay() {
  const largest = `topk(10, sum by ($rows) (${inRow(OF, largestMonth(OF))}))`;
  const entries = `sum by ($rows) (${inRow(OF, entriesOfDays(OF))})`;
  return hourlyBars(
    5,
    'Entries per day, five weeks',
    'The ten rows with the most entries, and all others. Days begin at 06:00 in the viewer’s time zone; the running one is so far.',
  )
    .span(24)
    .height(9)
    .timeFrom('35d')
    .barAlignment(BarAlignment.After)
    .interval('1d')
    .withTarget(overTime(`${entries} and on ($rows) ${largest}`, '{{group}} {{customer}} {{name}}'))
    .withTarget(overTime(`sum(${entries} unless on ($rows) ${largest})`, 'others'));
}

function perMonth(id: number, title: string, query: string) {
  return matrix(table(id, title, WORDS).withTarget(now(query).format(PromQueryFormat.Table)), {
    rows: 'row',
    columns: 'month',
    rowsTitle: 'Total of',
  })
    .span(24)
    .height(8);
}

function perYear(id: number, title: string, panelId: number) {
  return matrix(
    groupedBy(
      table(id, title, 'The months of the table above added up, and how many they are.'),
      panelId,
      ['row', 'year'],
    ),
    { rows: 'row', columns: 'year', rowsTitle: 'Total of' },
    'Value (sum)',
  )
    .span(12)
    .height(8);
}

function incomplete() {
  const empty = table(
    10,
    'Months with missing counts',
    'Missed: about how many people in the longest time without a count. Counted until: where values ended before the last day of the month.',
  )
    .span(24)
    .height(6)
    .noValue('none found')
    .overrideByName('Library', toCustomer())
    .overrideByName('Branch', [{ id: 'noValue', value: '–' }]);
  return withColumns(empty, { month: 'Month', customer: 'Library', name: 'Branch', branch: '' }, [
    ['Missed', withName(OF, missedByMonth(OF)), dashFor(-1)],
    [
      'Counted until',
      `1000 * ${withName(OF, endedEarly(OF))}`,
      [...dashFor(-1), { id: 'unit', value: 'dateTimeAsLocal' }],
    ],
  ]);
}
