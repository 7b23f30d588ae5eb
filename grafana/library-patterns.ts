/**
 * The third dashboard: when people come. Over weeks, and of all the chosen libraries together where
 * it does not say otherwise; it is for one, or for a few that are alike.
 */
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { alerts, customerChoice, frame, several } from './frame.ts';
import {
  FULLNESS_STEPS,
  WEEKDAYS,
  coloured,
  dashed,
  inUnit,
  inWords,
  mappings,
  toCustomer,
} from './looks.ts';
import { bars, columns, explanation, lines, now, overTime } from './panels.ts';
import {
  CHOSEN,
  ENTRY_RATE,
  FULLNESS,
  INSIDE,
  OPEN,
  byLocalHour,
  growth,
  perCustomer,
} from './queries.ts';
import { table, weekByHour, withColumns } from './tables.ts';

/** The mean entries of every hour of the week, all the chosen libraries together. */
const ENTRIES_BY_HOUR = byLocalHour(ENTRY_RATE, '$__range');
/** Only while the library is open; always, where no opening hours are configured. */
const FULLNESS_WHILE_OPEN = `(${FULLNESS} unless on (customer) ${OPEN} == 0)`;
const PEAK = `max by (customer) (max_over_time(library_occupancy_people{${CHOSEN}}[$__range]))`;
/** The library's own clock at the last five minutes in which as many were inside as never else. */
const PEAK_TIME =
  `max_over_time((time() + ${perCustomer('library_utc_offset_seconds')} and on (customer)` +
  ` (${INSIDE} == on (customer) max_over_time(${INSIDE}[$__range:5m] @ end())))[$__range:5m])`;
/** Entries an hour, only while the library is open. */
const ENTRY_RATE_WHILE_OPEN = `(${ENTRY_RATE} unless on (customer) ${OPEN} == 0)`;

const WEEKS = ['the last seven days', 'a week before', 'two weeks before', 'three weeks before'];

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryPatterns(): Dashboard {
  return frame('library-patterns', 'Patterns', 'When people come, and how weeks compare.')
    .time({ from: 'now-28d', to: 'now' })
    .refresh('15m')
    .withVariable(several(customerChoice()))
    .annotation(alerts(',customer=~"$customer"'))
    .withPanel(entriesByHour())
    .withPanel(insideByHour())
    .withPanel(weeksCompared())
    .withPanel(usualDays())
    .withPanel(usualHours())
    .withPanel(insideThisWeek())
    .withPanel(enteredThisWeek())
    .withPanel(peaks())
    .withPanel(use())
    .withPanel(words())
    .build();
}

function entriesByHour() {
  return weekByHour(
    1,
    'Entries by weekday and hour',
    "How many people come in within each hour of the week, the mean over the time range, on each library's own clock. The darker the busier.",
    `sum by (weekday, hour) (${ENTRIES_BY_HOUR})`,
  );
}

function insideByHour() {
  return weekByHour(
    2,
    'People inside by weekday and hour',
    "How many people are inside in each hour of the week, the mean over the time range, on each library's own clock. The darker the fuller.",
    `sum by (weekday, hour) (${byLocalHour(INSIDE, '$__range')})`,
  );
}

function weeksCompared() {
  const panel = bars(
    3,
    'Entries of seven days, weeks compared',
    'People counted in within the last seven days, and within the seven days before those, and so on.',
  ).span(8);
  WEEKS.forEach((name, weeks) =>
    panel.withTarget(now(`sum(${growth('library_people_entered_total', '1w', ago(weeks))})`, name)),
  );
  return panel;
}

function usualDays() {
  return columns(
    4,
    'Entries of a usual day',
    'The mean entries of each weekday over the time range: its hours of the first table together.',
    'weekday',
    `sum by (weekday) (${ENTRIES_BY_HOUR})`,
  ).overrideByName('weekday', [{ id: 'mappings', value: mappings(WEEKDAYS) }]);
}

function usualHours() {
  return columns(
    5,
    'Entries of a usual hour',
    'The mean entries of each hour of the day over the time range, the seven days of the week together.',
    'hour',
    `avg by (hour) (sum by (weekday, hour) (${ENTRIES_BY_HOUR}))`,
  );
}

function insideThisWeek() {
  return compared(
    lines(
      6,
      'People inside, weeks compared',
      'People inside over the last seven days; dashed the same times of the weeks before. A gap is a time without fresh data.',
    ),
    'library_occupancy_people',
  );
}

function enteredThisWeek() {
  return compared(
    lines(
      7,
      'Entries since the day started, weeks compared',
      'People counted in since the day started: each day climbs to its total. Dashed the same times of the weeks before.',
    ),
    'library_people_entered_today',
  );
}

function peaks() {
  const empty = table(
    8,
    'Peaks',
    'The fullest five minutes of the time range for each of the chosen libraries, with weekday and hour on its own clock.',
  )
    .span(12)
    .overrideByName('Library', toCustomer());
  return withColumns(
    empty,
    ['customer', 'Library'],
    [
      ['Most inside', PEAK],
      [
        'Of capacity',
        `${PEAK} / on (customer) (${perCustomer('library_capacity_people')} > 0)`,
        [...inUnit(units.PercentUnit), ...coloured(FULLNESS_STEPS)],
      ],
      ['Weekday', `day_of_week(${PEAK_TIME})`, inWords(WEEKDAYS)],
      ['Hour of the day', `hour(${PEAK_TIME})`],
    ],
  );
}

function use() {
  const empty = table(
    9,
    'Use while open',
    'How the chosen libraries are used over the time range while they are open; always, where no opening hours are configured.',
  )
    .span(12)
    .overrideByName('Library', toCustomer());
  return withColumns(
    empty,
    ['customer', 'Library'],
    [
      ['Entries an hour', `avg_over_time(${ENTRY_RATE_WHILE_OPEN}[$__range:15m])`],
      ['Mean inside', `avg_over_time((${INSIDE} unless on (customer) ${OPEN} == 0)[$__range:15m])`],
      [
        'Mean use of capacity',
        `avg_over_time(${FULLNESS_WHILE_OPEN}[$__range:15m])`,
        [...inUnit(units.PercentUnit), ...coloured(FULLNESS_STEPS)],
      ],
      [
        'Time above 80 %',
        `avg_over_time((${FULLNESS_WHILE_OPEN} >= bool 0.8)[$__range:15m])`,
        inUnit(units.PercentUnit),
      ],
    ],
  );
}

function words() {
  return explanation(10, [
    'Weekdays and hours in tables are each library’s own, whatever the zone of the viewer; time axes show the time of the viewer. An hour of the week is the mean of all such hours in the time range: choose four weeks for a usual week, one for the last.',
    'Several libraries can be chosen; tables of weekdays, bars and columns show them together, the last two tables each for itself. *Use of capacity* needs a configured capacity, *while open* opening hours.',
    'This needs a Prometheus that keeps the weeks that are looked at (`--storage.tsdb.retention.time`, 15 days by default); `backfill` fills in those before the installation. No recording rules are needed.',
  ]);
}

/** Seven days of a gauge, and dashed the same days of three weeks before. */
function compared(panel: ReturnType<typeof lines>, gauge: string) {
  panel.timeFrom('7d').interval('15m');
  WEEKS.forEach((name, weeks) =>
    panel.withTarget(overTime(`sum(${perCustomer(gauge, ago(weeks))})`, name)),
  );
  WEEKS.slice(1).forEach((name, index) =>
    panel.overrideByName(name, dashed(['blue', 'purple', 'text'][index])),
  );
  return panel;
}

/** As PromQL writes it. */
function ago(weeks: number): string {
  return weeks === 0 ? '' : `offset ${weeks}w`;
}
