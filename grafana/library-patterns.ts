/** When people come, over weeks. For one library or a few: its queries read four weeks. */
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { allBranches, customerChoice, frame, several } from './frame.ts';
import { groupedColumns } from './panels.ts';
import { BRANCHES as OF, capacity, customerGauge, entered, gauge, named } from './queries.ts';
import { hourByWeekday, sorted, table, withColumns } from './tables.ts';
import {
  FULLNESS_STEPS,
  WEEKDAYS,
  dashFor,
  inUnit,
  mappings,
  shareBars,
  toCustomer,
} from './theme.ts';

/** The panel whose response others use as well. */
const ENTRIES_PANEL = 1;
/** Time zones differ by half hours. */
const STEP = '30m';
/** In the middle of a step, so that an hour begins and ends with its own values. */
const MIDDLE = 'offset 15m';
const CLOSED = `${gauge(OF, 'library_open', MIDDLE)} == 0`;
const BEFORE = entered(OF, `offset ${STEP}`);
/** Entries per hour, of the last half hour. Today's entries start at 0 with the day. */
const ENTRIES = whileOpen(`2 * (${entered(OF)} - ${BEFORE} * (${BEFORE} <= bool ${entered(OF)}))`);
const INSIDE = whileOpen(insideThen(MIDDLE));
const SHARE = `(${INSIDE} / ${capacity(OF)})`;
const INSIDE_NOW = insideThen('');
const HALF_HOURS = `$__range:${STEP}`;
const PEAK = `max_over_time(${INSIDE_NOW}[${HALF_HOURS}])`;
/** The last half-hour with the peak. */
const PEAK_TIME =
  `max_over_time((time() + 0 * (${INSIDE_NOW} == on (customer, branch)` +
  ` max_over_time(${INSIDE_NOW}[${HALF_HOURS}] @ end())))[${HALF_HOURS}])`;
/** Local time of the library in the middle of a step. */
const LOCAL_TIME = `(time() - 900 + ${customerGauge(OF, 'library_utc_offset_seconds')})`;

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryPatterns(): Dashboard {
  return frame('library-patterns', 'When people come. For at most ten branches at once.')
    .time({ from: 'now-28d', to: 'now' })
    .refresh('15m')
    .withVariable(several(customerChoice()))
    .withVariable(allBranches())
    .withPanel(
      hourByWeekday(
        ENTRIES_PANEL,
        'Entries by hour and weekday',
        'Entries per hour in the library’s own time, the mean of the time range, of all chosen branches together while they are open. The darker, the busier.',
        byLocalHour(ENTRIES),
      ),
    )
    .withPanel(
      hourByWeekday(
        2,
        'People inside by hour and weekday',
        'The mean of the estimate in the library’s own time, of all chosen branches together while they are open. The darker, the fuller.',
        byLocalHour(INSIDE),
      ),
    )
    .withPanel(weekdays())
    .withPanel(use())
    .build();
}

/** Only open hours; all hours where no opening hours are configured. */
function whileOpen(value: string): string {
  return `(${value} unless on (customer, branch) ${CLOSED})`;
}

/** People inside by site: the estimate, else the difference of entries and exits where none is possible. */
function insideThen(when: string): string {
  const difference = gauge(OF, 'library_occupancy_people', when);
  const suspect = gauge(OF, 'library_door_suspect', when);
  return `(${gauge(OF, 'library_occupancy_estimate_people', when)} or ${difference} unless on (customer, branch) ${suspect})`;
}

/**
 * Means over the time range by local weekday (1 is Monday) and hour, added up over sites. PromQL's clock is UTC:
 * the exported offset makes it local, and `count_values` turns it into a label. A series exists only in its own
 * hour of the week, so its mean over the time range is the mean of that hour.
 */
function byLocalHour(value: string): string {
  const when = `count_values by (customer) ("when", 1000 + 100 * day_of_week(${LOCAL_TIME}) + hour(${LOCAL_TIME}))`;
  const labelled = `${value} * on (customer) group_left (when) ${when}`;
  const mean = `sum by (when) (avg_over_time((${labelled})[$__range:${STEP}]))`;
  const sunday = `label_replace(label_replace(${mean}, "weekday", "$1", "when", "1(.).."), "weekday", "7", "weekday", "0")`;
  return `sum by (weekday, hour) (label_replace(${sunday}, "hour", "$1", "when", "1.(..)"))`;
}

function weekdays() {
  return groupedColumns(
    3,
    'Entries by weekday',
    'The hours of the first table added up: a mean day that is open.',
    'weekday',
    { panelId: ENTRIES_PANEL, by: 'sum' },
  )
    .span(5)
    .overrideByName('weekday', [{ id: 'mappings', value: mappings(WEEKDAYS) }]);
}

function use() {
  const empty = table(
    4,
    'Use of the branches',
    'Means over the time range, while open; the share of the capacity, and of the time in which it is over 80 %. The peak is that of half-hours, in the viewer’s time.',
  )
    .span(19)
    .minWidth(75)
    .overrideByName('Library', toCustomer());
  return sorted(
    withColumns(empty, { customer: 'Library', name: 'Branch', branch: '' }, [
      ['Entries/hour', named(OF, mean(ENTRIES))],
      ['Inside', mean(INSIDE)],
      ['Share', mean(SHARE), shareBars(FULLNESS_STEPS)],
      ['Over 80 %', mean(`(${SHARE} >= bool 0.8)`), [...inUnit(units.PercentUnit), ...dashFor(-1)]],
      ['Peak', PEAK],
      [
        'Peak on',
        `${PEAK_TIME} * 1000`,
        [...inUnit('time:D MMM HH:mm'), { id: 'custom.width', value: 125 }],
      ],
    ]),
    'Entries/hour',
  );
}

function mean(value: string): string {
  return `avg_over_time(${value}[$__range:${STEP}])`;
}
