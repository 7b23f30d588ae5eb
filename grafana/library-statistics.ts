/** Totals by day and month, for the annual report. */
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { all, customerChoice, frame } from './frame.ts';
import { explanation, groupedBy, hourlyBars, now, overTime, stat } from './panels.ts';
import { CHOSEN, growth, perCustomer } from './earlier-queries.ts';
import { matrix, table } from './tables.ts';

const MONTH_START = `${perCustomer('library_period_start_timestamp_seconds')} + ${perCustomer('library_utc_offset_seconds')}`;

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryStatistics(): Dashboard {
  return frame('library-statistics', 'Totals by day and month.')
    .time({ from: 'now-90d', to: 'now' })
    .refresh('15m')
    .withVariable(all(customerChoice()))
    .withPanel(total(1, 'Entries this month', 'library_people_entered_total'))
    .withPanel(againstLastYear())
    .withPanel(total(2, 'Logins this month', 'library_logins_total'))
    .withPanel(sevenDays())
    .withPanel(weekChange())
    .withPanel(perDay(5, 'Entries per day', 'library_people_entered_total'))
    .withPanel(perDay(6, 'Logins per day', 'library_logins_total'))
    .withPanel(perMonth(7, 'Entries per month', 'library_people_entered_total'))
    .withPanel(perMonth(8, 'Logins per month', 'library_logins_total'))
    .withPanel(perYear(9, 'Entries per year', 7))
    .withPanel(perYear(10, 'Logins per year', 8))
    .withPanel(words())
    .build();
}

function total(id: number, title: string, counter: string) {
  return stat(id, title, 'All chosen libraries together, since the month started.')
    .span(5)
    .withTarget(now(`sum(${perCustomer(counter)})`, title));
}

function againstLastYear() {
  const entered = perCustomer('library_people_entered_total');
  const before = perCustomer('library_people_entered_total', 'offset 365d');
  return stat(
    12,
    'Against last year',
    'Entries since the month started against the same days of the same month last year, of the libraries that have both.',
  )
    .span(5)
    .withTarget(
      now(
        `sum(${entered} and on (customer) ${before}) / (sum(${before} and on (customer) ${entered}) > 0) - 1`,
        'change',
      ),
    )
    .unit(units.PercentUnit);
}

function sevenDays() {
  return stat(3, 'Entries, 7 days', 'All chosen libraries together.')
    .span(4)
    .withTarget(now(`sum(${growth('library_people_entered_total', '1w')})`, 'entries'));
}

function weekChange() {
  const before = `sum(${growth('library_people_entered_total', '1w', 'offset 1w')})`;
  return stat(4, 'Against the week before', 'Entries of seven days against the seven days before.')
    .span(5)
    .withTarget(
      now(`sum(${growth('library_people_entered_total', '1w')}) / (${before} > 0) - 1`, 'change'),
    )
    .unit(units.PercentUnit);
}

function perDay(id: number, title: string, counter: string) {
  const twelve = `topk(12, ${growth(counter, '$__range', '@ end()')})`;
  const entries = `round(${growth(counter, '$__interval')})`;
  return hourlyBars(
    id,
    title,
    'The twelve libraries with the most, and all others. Days of the viewer’s time zone. Each bar ends at its time; the running day is not shown.',
  )
    .span(24)
    .height(11)
    .interval('1d')
    .withTarget(overTime(`${entries} and on (customer) ${twelve}`))
    .withTarget(overTime(`sum(${entries} unless on (customer) ${twelve})`, 'others'));
}

/**
 * The counters restart with the month, so the last value of a month is its total. Each step has the
 * month in which the hour after it begins, and the hour's greatest value: also the last one before a restart.
 */
function monthly(counter: string): string {
  const value = `max by (customer) (max_over_time(${counter}{${CHOSEN}}[1h] offset -1h))`;
  const withYear = `${value} * on (customer) group_left (year) count_values by (customer) ("year", year(${MONTH_START}))`;
  const withMonth = `${withYear} * on (customer) group_left (month) count_values by (customer) ("month", month(${MONTH_START}))`;
  const twoDigits = `label_replace(max_over_time((${withMonth})[$__range:1h]), "month", "0$1", "month", "(.)")`;
  return `sum by (customer, year, month) (label_join(${twoDigits}, "month", "-", "year", "month"))`;
}

function perMonth(id: number, title: string, counter: string) {
  return matrix(
    table(
      id,
      title,
      'Exact: the last value of each month. The first month of the time range may be incomplete in Prometheus. Export it from the panel menu: Inspect, Data, Download CSV.',
    ).withTarget(now(monthly(counter)).format(PromQueryFormat.Table)),
    { rows: 'month', columns: 'customer', rowsTitle: 'Month' },
  ).height(8);
}

function perYear(id: number, title: string, panelId: number) {
  return matrix(
    groupedBy(
      table(id, title, 'The months of the time range added up. Choose two years to compare them.'),
      panelId,
      ['customer', 'year'],
    ),
    { rows: 'year', columns: 'customer', rowsTitle: 'Year' },
    'Value (sum)',
  ).height(4);
}

function words() {
  return explanation(11, [
    'A monthly total is the last value of the month’s counter: the service’s total then, without records that arrive later. Daily totals are increases as Prometheus computes them, rounded.',
    'Earlier months need a Prometheus that keeps them (`--storage.tsdb.retention.time`, 15 days by default); `backfill` adds those before the installation. Choose the time range accordingly.',
  ]);
}
