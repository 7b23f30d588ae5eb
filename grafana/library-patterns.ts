/**
 * When people come, over weeks. For one library or a few: its queries read four weeks in steps of 30
 * minutes, so more than 50 libraries take longer than Grafana waits.
 */
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { customerChoice, frame, several } from './frame.ts';
import {
  FULLNESS_STEPS,
  WEEKDAYS,
  coloured,
  dashed,
  inUnit,
  mappings,
  toCustomer,
} from './theme.ts';
import { bars, explanation, groupedColumns, lines, now, overTime } from './panels.ts';
import {
  ENTRY_RATE,
  OPEN,
  RAW_FULLNESS,
  RAW_INSIDE,
  byLocalHour,
  growth,
  ofSites,
} from './earlier-queries.ts';
import { sorted, table, weekByHour, withColumns } from './tables.ts';

/** The panel whose response others use as well: its query is the most expensive one. */
const ENTRIES_PANEL = 1;
/** Share of the capacity while open; always if no opening hours are configured. */
const FULLNESS_WHILE_OPEN = `(${RAW_FULLNESS} unless on (customer) ${OPEN} == 0)`;
const PEAK = `max_over_time(${RAW_INSIDE}[$__range:5m])`;
/** When the last five minutes with the peak ended. */
const PEAK_TIME =
  `max_over_time((time() + 0 * (${RAW_INSIDE} == on (customer)` +
  ` max_over_time(${RAW_INSIDE}[$__range:5m] @ end())))[$__range:5m])`;
/** Entries per hour while open. */
const ENTRY_RATE_WHILE_OPEN = `(${ENTRY_RATE} unless on (customer) ${OPEN} == 0)`;

const WEEKS = ['last 7 days', '1 week ago', '2 weeks ago', '3 weeks ago'];

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryPatterns(): Dashboard {
  return frame('library-patterns', 'When people come. For at most 50 libraries at once.')
    .time({ from: 'now-28d', to: 'now' })
    .refresh('15m')
    .withVariable(several(customerChoice()))
    .withPanel(entriesByHour())
    .withPanel(insideByHour())
    .withPanel(weeksCompared())
    .withPanel(usualDays())
    .withPanel(usualHours())
    .withPanel(insideThisWeek())
    .withPanel(peaks())
    .withPanel(use())
    .withPanel(words())
    .build();
}

function entriesByHour() {
  return weekByHour(
    ENTRIES_PANEL,
    'Entries by weekday and hour',
    'Average over the time range, in local time. The stronger the colour, the busier.',
    `sum by (weekday, hour) (${byLocalHour(ENTRY_RATE, '$__range')})`,
  );
}

function insideByHour() {
  return weekByHour(
    2,
    'People inside by weekday and hour',
    'Average of the raw value (entries minus exits) over the time range, in local time. The stronger the colour, the fuller.',
    `sum by (weekday, hour) (${byLocalHour(RAW_INSIDE, '$__range')})`,
  );
}

function weeksCompared() {
  const panel = bars(
    3,
    'Entries per 7 days, last four weeks',
    'Entries of the last seven days, of the seven days before, and so on.',
  ).span(8);
  WEEKS.forEach((name, weeks) =>
    panel.withTarget(now(`sum(${growth('library_people_entered_total', '1w', ago(weeks))})`, name)),
  );
  return panel;
}

function usualDays() {
  return groupedColumns(
    4,
    'Average entries by weekday',
    'Average over the time range.',
    'weekday',
    { panelId: ENTRIES_PANEL, by: 'sum' },
  ).overrideByName('weekday', [{ id: 'mappings', value: mappings(WEEKDAYS) }]);
}

function usualHours() {
  return groupedColumns(
    5,
    'Average entries by hour',
    'Average over the time range, all days of the week.',
    'hour',
    { panelId: ENTRIES_PANEL, by: 'mean' },
  );
}

function insideThisWeek() {
  return compared(
    lines(
      6,
      'People inside, weeks compared',
      'People inside (raw) over the last seven days; dashed the same times of earlier weeks. A gap means no recent data.',
    ).span(24),
    'library_occupancy_people',
  );
}

function peaks() {
  const empty = table(
    8,
    'Peaks',
    'The fullest five minutes of the time range for each library by the raw value, in the viewer’s time.',
  )
    .span(12)
    .overrideByName('Library', toCustomer());
  return sorted(
    withColumns(empty, { customer: 'Library' }, [
      ['Peak', PEAK],
      [
        'Share of capacity',
        `max_over_time(${RAW_FULLNESS}[$__range:5m])`,
        [...inUnit(units.PercentUnit), ...coloured(FULLNESS_STEPS)],
      ],
      ['When', `${PEAK_TIME} * 1000`, inUnit('time:ddd D MMM YYYY HH:mm')],
    ]),
    'Peak',
  );
}

function use() {
  const empty = table(
    9,
    'Use while open',
    'Over the time range while open, people inside as raw values; always if no opening hours are configured.',
  )
    .span(12)
    .overrideByName('Library', toCustomer());
  return sorted(
    withColumns(empty, { customer: 'Library' }, [
      ['Entries per hour', `avg_over_time(${ENTRY_RATE_WHILE_OPEN}[$__range:30m])`],
      [
        'Average inside',
        `avg_over_time((${RAW_INSIDE} unless on (customer) ${OPEN} == 0)[$__range:30m])`,
      ],
      [
        'Average share',
        `avg_over_time(${FULLNESS_WHILE_OPEN}[$__range:30m])`,
        [...inUnit(units.PercentUnit), ...coloured(FULLNESS_STEPS)],
      ],
      [
        'Time above 80 %',
        `avg_over_time((${FULLNESS_WHILE_OPEN} >= bool 0.8)[$__range:30m])`,
        inUnit(units.PercentUnit),
      ],
    ]),
    'Entries per hour',
  );
}

function words() {
  return explanation(10, [
    'People inside are raw values here: entries minus exits, never below 0. Weekdays and hours in tables are local; time axes show the viewer’s time. Choose four weeks for an average week, one week for the last one.',
    'Weekday tables and bar charts add the chosen libraries up; the last two tables list them one by one. *Share of capacity* needs a configured capacity, *while open* opening hours.',
    'Earlier weeks need a Prometheus that keeps them (`--storage.tsdb.retention.time`, 15 days by default); `backfill` adds those before the installation. No recording rules are needed.',
  ]);
}

/** Seven days of a gauge, and dashed the same days of three earlier weeks. */
function compared(panel: ReturnType<typeof lines>, gauge: string) {
  panel.timeFrom('7d').interval('15m');
  WEEKS.forEach((name, weeks) =>
    panel.withTarget(overTime(`sum(${ofSites(gauge, ago(weeks))})`, name)),
  );
  WEEKS.slice(1).forEach((name, index) =>
    panel.overrideByName(name, dashed(['blue', 'purple', 'text'][index])),
  );
  return panel;
}

/** Returns PromQL's modifier for a number of weeks. */
function ago(weeks: number): string {
  return weeks === 0 ? '' : `offset ${weeks}w`;
}
