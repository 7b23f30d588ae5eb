/** One library: its day beside what is usual, its branches, its week and its doors. */
import { ANY_BRANCHES, ONE_LIBRARY, dashboard } from './frame.ts';
import { entries, needsAttention } from './library-overview.ts';
import { columns, hoursByWeekday, lines, stat, table } from './panels.ts';
import {
  BRANCHES as OF,
  LIBRARY as WHOLE,
  byLibrary,
  bySite,
  sum,
  usualWhereKnown,
} from './queries.ts';
import * as theme from './theme.ts';

const ENDS = 'Each bar ends at its time; the running hour is not shown.';
/** The middle of the hour before, by the library's clock. */
const LOCAL_TIME = `(time() - 1800 + max(library_utc_offset_seconds{${WHOLE}}))`;

const RATIOS = theme.steps(theme.BAD, [0.9, 'text'], [1.1, theme.BAD]);

/** The whole dashboard, as its file has it. */
export function libraryCustomer() {
  return dashboard({
    uid: 'library-customer',
    description: 'Everything about one library and its branches.',
    from: 'now/d',
    variables: [ONE_LIBRARY, ANY_BRANCHES],
    rows: [
      [5, [needsAttention(WHOLE)]],
      [5, [insideNow(), entries('today', OF), loginsToday()]],
      [9, [insideOverTime(), branches()]],
      [9, [entriesPerHour(), loginsPerHour()]],
      [26, [weekdays()], 'Hours of the week'],
      [9, [doors()], 'Doors'],
    ],
  });
}

function entriesPerHour() {
  return columns({
    title: 'Entries per hour',
    description: `All chosen branches together, and as a line what is usual. ${ENDS}`,
    queries: [
      ['entries', sum('library_people_entered_hour', OF), theme.BLUE],
      ['usual', sum('library_people_entered_usual_hour', OF), theme.DASHED_AMONG_BARS],
    ],
  });
}

function loginsPerHour() {
  const logins = `round(max(increase(library_logins_total{${WHOLE}}[$__interval])))`;
  return columns({
    title: 'Logins per hour',
    description: `Of the library as a whole. ${ENDS}`,
    queries: [['logins', logins, theme.BLUE]],
  });
}

function insideNow() {
  const capacity = `library_capacity_people{${OF}} and library_inside_people{${OF}}`;
  return stat({
    title: 'People inside',
    description: 'And the capacity. Both without branches whose counts are wrong or old.',
    queries: [
      ['inside', sum('library_inside_people', OF)],
      ['capacity', `sum(max by (customer, branch) (${capacity}))`, theme.TEXT],
    ],
  });
}

function loginsToday() {
  const before = byLibrary('library_logins_today', WHOLE, ' offset 1w');
  return stat({
    title: 'Logins today',
    description: 'And by this time a week ago. Patron logins are of the library as a whole.',
    queries: [
      ['today', byLibrary('library_logins_today', WHOLE)],
      ['a week ago', before, theme.TEXT],
    ],
  });
}

function insideOverTime() {
  return lines({
    title: 'People inside over time',
    description:
      'With the 90 % interval of estimates. Without branches while their counts are wrong.',
    interval: '5m',
    queries: [
      ['people inside', sum('library_inside_people', OF), theme.BLUE],
      ['lower', sum('library_occupancy_estimate_lower_people', OF), theme.LOWER],
      ['upper', sum('library_occupancy_estimate_upper_people', OF), theme.UPPER],
      ['usual', usualWhereKnown(OF), theme.DASHED],
    ],
  });
}

function branches() {
  const ratio = { ...theme.COLOURED, unit: 'none', decimals: 2, thresholds: RATIOS };
  return table({
    title: 'Branches',
    description: 'Usual: today by now. Ratio: entries for each exit, in 28 days. Red: a tenth off.',
    labels: { name: 'Branch', branch: '', customer: '' },
    queries: [
      ['', `max by (customer, branch, name) (library_site_info{${OF}})`],
      ['Inside', bySite('library_inside_people', OF)],
      ['Today', bySite('library_people_entered_today', OF)],
      ['Usual', bySite('library_people_entered_usual_today', OF)],
      ['Ratio', bySite('library_door_count_ratio', OF), ratio],
    ],
    sortBy: ['Inside desc'],
  });
}

function weekdays() {
  return hoursByWeekday({
    title: 'Entries by hour and weekday',
    description: 'Means of four weeks, by the clock of the library. The darker, the busier.',
    queries: [
      ['entries', sum('library_people_entered_hour', OF)],
      ['weekday', `(day_of_week${LOCAL_TIME} + 6) % 7`],
      ['hour', `hour${LOCAL_TIME}`],
    ],
  });
}

function doors() {
  const last = `max by (device) (library_device_last_seen_timestamp_seconds{${WHOLE}})`;
  const missed = `max by (device) (library_device_people_missed{${WHOLE}})`;
  const looks = { ...theme.COLOURED, thresholds: theme.steps('text', [10, theme.BAD]) };
  return table({
    title: 'Door counters',
    description:
      'Missed: about how many people since the last count. Needs `breakdowns: [device]`.',
    labels: { device: 'Door counter' },
    queries: [
      ['Last count', `1000 * ${last}`, theme.AGO],
      ['Missed', missed, looks],
      ['Entries today', `max by (device) (library_device_people_entered_today{${WHOLE}})`],
    ],
    sortBy: ['Missed desc'],
  });
}
