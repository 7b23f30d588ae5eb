/**
 * The first dashboard: what needs attention, which library is busy, which is empty. Charts show
 * twelve libraries, the table shows all.
 */
import { BigValueTextMode } from '@grafana/grafana-foundation-sdk/common';
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { alerts, customersByLabel, frame } from './frame.ts';
import {
  AGE_STEPS,
  COLOURLESS,
  FULLNESS_STEPS,
  LAST_WEEK_STEPS,
  OPEN_OR_CLOSED,
  background,
  coloured,
  inRed,
  inUnit,
  inWords,
  thresholds,
  toCustomer,
} from './theme.ts';
import { bars, explanation, hourlyBars, lines, now, overTime, stat } from './panels.ts';
import { NEEDS_ATTENTION } from './problems.ts';
import {
  AGAINST_LAST_WEEK,
  DATA_AGE,
  ENTERED_TODAY,
  FULLNESS,
  INSIDE,
  LOGINS_TODAY,
  OPEN,
  RAW_INSIDE,
  growth,
  ofSites,
  perCustomer,
  twelveOf,
} from './queries.ts';
import { sorted, table, withColumns, withLabels } from './tables.ts';

/** One for each library, as a table has one row for each. */
const FIRST_PROBLEM = `topk by (customer) (1, (${NEEDS_ATTENTION}) and on (customer) ${perCustomer('library_customer_info')})`;
const LAST_WEEK_BY_NOW = ofSites('library_people_entered_today', 'offset 1w');

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryOverview(): Dashboard {
  const dashboard = frame(
    'library-overview',
    'What needs attention, and which library is busy or empty.',
  );
  customersByLabel().forEach((variable) => dashboard.withVariable(variable));
  return dashboard
    .annotation(alerts(',customer=~"$customer|"'))
    .withPanel(needsAttention())
    .withPanel(insideTotal())
    .withPanel(entriesTotal())
    .withPanel(againstLastWeek())
    .withPanel(openLibraries())
    .withPanel(libraries())
    .withPanel(fullness())
    .withPanel(insideOverTime())
    .withPanel(entriesPerHour())
    .withPanel(words())
    .build();
}

function needsAttention() {
  const empty = table(
    1,
    'Needs attention',
    "Libraries that probably have a problem now. 'Nobody is being counted' means: people came at this time last week, and the library is not closed. Click a library to see why.",
  )
    .span(24)
    .height(6)
    .noValue('no problem found')
    .overrideByName('Library', [...toCustomer(), { id: 'custom.width', value: 140 }])
    .overrideByName('Problem', background('dark-red'));
  return withLabels(empty, NEEDS_ATTENTION, { customer: 'Library', problem: 'Problem' });
}

function insideTotal() {
  return stat(
    2,
    'People inside',
    'In all chosen libraries together: a sum of estimates and, for libraries without one, of raw values (entries minus exits).',
  )
    .span(6)
    .withTarget(now(`sum(${INSIDE})`, 'inside'));
}

function entriesTotal() {
  return stat(3, 'Entries today', 'In all chosen libraries together.')
    .span(6)
    .withTarget(now(`sum(${ENTERED_TODAY})`, 'entries'));
}

function againstLastWeek() {
  return stat(
    4,
    'Compared with last week',
    "Today's entries against the same time of the same weekday last week, all chosen libraries together.",
  )
    .span(6)
    .withTarget(
      now(
        `sum(${ENTERED_TODAY} and on (customer) ${LAST_WEEK_BY_NOW}) / (sum(${LAST_WEEK_BY_NOW} and on (customer) ${ENTERED_TODAY}) > 0) - 1`,
        'change',
      ),
    )
    .unit(units.PercentUnit)
    .thresholds(thresholds(LAST_WEEK_STEPS));
}

function openLibraries() {
  return stat(5, 'Open now', 'Of the libraries with configured opening hours.')
    .span(6)
    .textMode(BigValueTextMode.ValueAndName)
    .thresholds(thresholds(COLOURLESS))
    .withTarget(now(`sum(${OPEN})`, 'open'))
    .withTarget(now(`count(${OPEN})`, 'with opening hours'));
}

function libraries() {
  const empty = table(
    6,
    'Libraries',
    'One row for each library, the fullest first; *Inside is* says whether people inside are an estimate or raw (entries minus exits). *Last person* is the time since anybody was counted. An empty cell is a value that is not known. Click a library to see more.',
  )
    .span(24)
    .height(11)
    .overrideByName('Library', toCustomer())
    .overrideByName('Problem', [...inRed(), { id: 'custom.width', value: 220 }]);
  return sorted(
    withColumns(
      empty,
      ['customer', 'Library'],
      [
        ['Inside', INSIDE],
        ['Of capacity', FULLNESS, [...inUnit(units.PercentUnit), ...coloured(FULLNESS_STEPS)]],
        ['Entries today', ENTERED_TODAY],
        [
          'Vs last week',
          AGAINST_LAST_WEEK,
          [...inUnit(units.PercentUnit), ...coloured(LAST_WEEK_STEPS)],
        ],
        ['Open', OPEN, inWords(OPEN_OR_CLOSED)],
        ['Logins today', LOGINS_TODAY],
        [
          'Last person',
          `time() - ${perCustomer('library_people_last_seen_timestamp_seconds')}`,
          inUnit(units.Seconds),
        ],
        ['Data age', DATA_AGE, [...inUnit(units.Seconds), ...coloured(AGE_STEPS)]],
        ['', FIRST_PROBLEM],
      ],
      { source: 'Inside is', problem: 'Problem' },
    ),
    'Inside',
  );
}

function fullness() {
  return bars(
    7,
    'Share of capacity',
    'People inside against the capacity, by the estimate where there is one, else by the raw value; the twelve fullest libraries without a problem: orange from 80 %, red from 100 %.',
  )
    .span(24)
    .height(8)
    .withTarget(now(`topk(12, ${FULLNESS} unless on (customer) (${NEEDS_ATTENTION}))`))
    .unit(units.PercentUnit)
    .max(1)
    .thresholds(thresholds(FULLNESS_STEPS));
}

/**
 * The raw value only: a change between raw and estimate would look like people who come or leave, and
 * the query of both takes Prometheus three times as long.
 */
function insideOverTime() {
  return lines(
    8,
    'People inside over time (raw)',
    'Entries minus exits since the day started, also where there is an estimate; the dashboard of a library shows both. The twelve libraries that were fullest on average. A gap means no recent data.',
  )
    .withTarget(
      overTime(
        twelveOf(
          RAW_INSIDE,
          'sum by (customer) (max by (customer, branch) (avg_over_time(library_occupancy_people{job=~"$job",customer=~"$customer"}[$__range] @ end())))',
        ),
      ),
    )
    .height(10)
    .interval('1m');
}

function entriesPerHour() {
  return hourlyBars(
    9,
    'Entries per hour',
    'Per hour, or per longer step if the time range is long; the twelve libraries with the most entries. Each bar ends at its time; the running hour is not shown.',
  )
    .withTarget(
      overTime(
        twelveOf(
          `round(${growth('library_people_entered_total', '$__interval')})`,
          growth('library_people_entered_total', '$__range', '@ end()'),
        ),
      ),
    )
    .height(10);
}

function words() {
  return explanation(10, [
    'The exporter asks the service in the background, once a minute by default; *data age* is the time since the last response. A value that is not known is absent, never 0. If a library is missing here, the exporter’s status page shows its last error.',
    '*Today* starts at the library’s own `day_starts_at` (04:00 by default) and includes corrections of the service. *Last week* means exactly 7 × 24 hours earlier, so it is an hour off after a clock change, and needs a week of history. Time axes show the viewer’s time.',
    'No recording rules are needed. Red marks are alerts of `prometheus/rules`, if Prometheus has them.',
  ]);
}
