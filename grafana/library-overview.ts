/**
 * The first dashboard: which library is busy, which is empty, which counter is broken. Panels show
 * twelve customers at most, the table at the end of the first screen all of them.
 */
import { BigValueTextMode } from '@grafana/grafana-foundation-sdk/common';
import { FieldColorModeId } from '@grafana/grafana-foundation-sdk/dashboard';
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { alerts, all, customerChoice, frame } from './frame.ts';
import {
  AGE_STEPS,
  FAILED_OR_GOOD,
  FULLNESS_STEPS,
  LAST_WEEK_STEPS,
  OPEN_OR_CLOSED,
  coloured,
  colours,
  inUnit,
  inWords,
  thresholds,
  toCustomer,
} from './looks.ts';
import { bars, explanation, hourlyBars, lines, now, overTime, stat } from './panels.ts';
import { NEEDS_A_LOOK } from './problems.ts';
import {
  AGAINST_LAST_WEEK,
  DATA_AGE,
  ENTERED_TODAY,
  EXITED_TODAY,
  FULLNESS,
  INSIDE,
  LAST_POLL,
  LOGINS_TODAY,
  OPEN,
  growth,
  perCustomer,
  twelveOf,
} from './queries.ts';
import { table, withColumns, withLabels } from './tables.ts';

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryOverview(): Dashboard {
  return frame(
    'library-overview',
    'Overview',
    'Which library is busy, which is empty, and which counter is broken.',
  )
    .withVariable(all(customerChoice()))
    .annotation(alerts(',customer=~"$customer|"'))
    .withPanel(insideNow())
    .withPanel(fullness())
    .withPanel(againstLastWeek())
    .withPanel(needsALook())
    .withPanel(customers())
    .withPanel(insideOverTime())
    .withPanel(entriesPerHour())
    .withPanel(words())
    .build();
}

function insideNow() {
  return stat(
    1,
    'Inside now',
    'People inside, the twelve fullest libraries. Counted from the doors since the day started; absent while no good poll is younger than 15 minutes.',
  )
    .span(6)
    .height(9)
    .withTarget(now(`topk(12, ${INSIDE})`))
    .textMode(BigValueTextMode.ValueAndName);
}

function fullness() {
  return bars(
    2,
    'Occupancy against capacity',
    'People inside as a share of the capacity, the twelve fullest libraries: orange from 80 %, red from 100 %. A library without a configured capacity is not shown.',
  )
    .span(6)
    .withTarget(now(`topk(12, ${FULLNESS})`))
    .unit(units.PercentUnit)
    .max(1)
    .thresholds(thresholds(FULLNESS_STEPS));
}

function againstLastWeek() {
  return bars(
    3,
    'Entries today, against last week',
    "Today's entries as a share of those by the same time of the same weekday last week, the twelve busiest libraries: 100 % is as many. Orange is less than half or more than double.",
  )
    .span(6)
    .withTarget(now(`sort_desc(${twelveOf(AGAINST_LAST_WEEK, ENTERED_TODAY)})`))
    .unit(units.PercentUnit)
    .max(2)
    .noValue('nothing to compare with: no data of last week')
    .thresholds(thresholds(LAST_WEEK_STEPS));
}

function needsALook() {
  const empty = table(
    4,
    'Needs a look',
    'Libraries of which something is probably broken or wrong now. Nobody counted: where people came at this time last week, and the library is not closed. Click a library to see why.',
  )
    .span(6)
    .noValue('nothing needs a look')
    .overrideByName('Library', toCustomer());
  return withLabels(empty, NEEDS_A_LOOK, { customer: 'Library', problem: 'What' });
}

function customers() {
  const empty = table(
    5,
    'Libraries',
    'One row for each. An empty cell is a figure that is not known: no capacity or opening hours configured, nobody seen today or the day before, or no complete reading yet. Click a library to see more of it.',
  )
    .span(24)
    .height(10)
    .overrideByName('Library', toCustomer());
  return withColumns(
    empty,
    ['customer', 'Library'],
    [
      ['Opening hours', OPEN, inWords(OPEN_OR_CLOSED)],
      ['Inside now', INSIDE],
      ['Of capacity', FULLNESS, [...inUnit(units.PercentUnit), ...coloured(FULLNESS_STEPS)]],
      ['Entered today', ENTERED_TODAY],
      ['Last week by now', perCustomer('library_people_entered_today', 'offset 1w')],
      ['Left today', EXITED_TODAY],
      ['Logins today', LOGINS_TODAY],
      [
        'Last person',
        `${perCustomer('library_people_last_seen_timestamp_seconds')} * 1000`,
        inUnit(units.DateTimeFromNow),
      ],
      ['Data age', DATA_AGE, [...inUnit(units.Seconds), ...coloured(AGE_STEPS)]],
      // From the first poll on, good or not: one that never had a good one has a row, too.
      ['Last poll', LAST_POLL, inWords(FAILED_OR_GOOD)],
    ],
  );
}

function insideOverTime() {
  return lines(
    6,
    'People inside',
    'People inside over time, the twelve libraries that were fullest on average. A gap is a time without fresh data.',
  )
    .withTarget(
      overTime(
        twelveOf(
          INSIDE,
          'max by (customer) (avg_over_time(library_occupancy_people{job=~"$job",customer=~"$customer"}[$__range] @ end()))',
        ),
      ),
    )
    .interval('1m')
    .colorScheme(colours(FieldColorModeId.PaletteClassicByName));
}

function entriesPerHour() {
  return hourlyBars(
    7,
    'Entries per hour',
    'People counted in within each hour, or within each longer step where the time range is long; the twelve libraries with the most entries. Each bar ends at its time.',
  )
    .withTarget(
      overTime(
        twelveOf(
          `round(${growth('library_people_entered_total', '$__interval')})`,
          growth('library_people_entered_total', '$__range', '@ end()'),
        ),
      ),
    )
    .colorScheme(colours(FieldColorModeId.PaletteClassicByName));
}

function words() {
  return explanation(8, [
    'The exporter asks the service in the background, once a minute unless configured otherwise; *data age* is how long ago it last got an answer. A figure that is not known is absent, never 0. If a library is missing here, the exporter’s status page shows its last error.',
    'Figures of *today* start again at the hour at which the library’s day starts, 04:00 unless configured otherwise, in its own time zone, and follow the service’s corrections. *Last week* is seven days before to the second, an hour off once the clocks have changed, and needs a week of history. Time axes show the time of the viewer.',
    'No recording rules are needed. The red marks are alerts of `prometheus/rules`, where Prometheus has them.',
  ]);
}
