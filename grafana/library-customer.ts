/** The second dashboard: everything about one library, from who is inside to the door that died. */
import { GraphTransform } from '@grafana/grafana-foundation-sdk/common';
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { branches, devices, drift } from './doors.ts';
import { alerts, customerChoice, frame } from './frame.ts';
import {
  AGE_STEPS,
  FULLNESS_STEPS,
  LAST_WEEK_STEPS,
  OPEN_OR_CLOSED,
  dashed,
  inColour,
  mappings,
  thresholds,
} from './looks.ts';
import {
  explanation,
  hourlyBars,
  hourlyBarsAroundZero,
  lines,
  now,
  overTime,
  stat,
  states,
} from './panels.ts';
import {
  AGAINST_LAST_WEEK,
  CHOSEN,
  DATA_AGE,
  ENTERED_IN_A_DAY,
  ENTERED_TODAY,
  ENTRY_RATE,
  FULLNESS,
  INSIDE,
  LOGINS_TODAY,
  OPEN,
  byLocalHour,
  growth,
  perCustomer,
} from './queries.ts';
import { weekByHour } from './tables.ts';

/** Mean number inside, divided by arrivals per second. */
const VISIT_SECONDS =
  `max by (customer) (avg_over_time(library_occupancy_people{${CHOSEN}}[3h]))` +
  ` / (${growth('library_people_entered_total', '3h')} > 20) * ${3 * 3_600}`;

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryCustomer(): Dashboard {
  return frame('library-customer', 'Customer', 'Everything about one library.')
    .withVariable(customerChoice())
    .annotation(alerts(',customer=~"$customer"'))
    .withPanel(insideNow())
    .withPanel(fullness())
    .withPanel(enteredToday())
    .withPanel(againstLastWeek())
    .withPanel(loginsToday())
    .withPanel(dataAge())
    .withPanel(insideOverTime())
    .withPanel(branches())
    .withPanel(entriesAndExits())
    .withPanel(loginsPerHour())
    .withPanel(openAndClosed())
    .withPanel(weekdayByHour())
    .withPanel(devices())
    .withPanel(drift())
    .withPanel(visitLength())
    .withPanel(loginsPerEntry())
    .withPanel(words())
    .build();
}

function insideNow() {
  return stat(1, 'Inside now', 'People inside, counted from the doors since the day started.')
    .span(4)
    .withTarget(now(INSIDE));
}

function fullness() {
  return stat(
    2,
    'Of its capacity',
    'People inside as a share of the configured capacity: orange from 80 %, red from 100 %.',
  )
    .span(4)
    .withTarget(now(FULLNESS))
    .unit(units.PercentUnit)
    .noValue('no capacity configured')
    .thresholds(thresholds(FULLNESS_STEPS));
}

function enteredToday() {
  return stat(3, 'Entries today', 'People counted in since the day started.')
    .span(4)
    .withTarget(now(ENTERED_TODAY));
}

function againstLastWeek() {
  return stat(
    4,
    'Of last week by now',
    "Today's entries as a share of those by the same time of the same weekday last week. Orange is less than half or more than double.",
  )
    .span(4)
    .withTarget(now(AGAINST_LAST_WEEK))
    .unit(units.PercentUnit)
    .noValue('nothing to compare with')
    .thresholds(thresholds(LAST_WEEK_STEPS));
}

function loginsToday() {
  return stat(5, 'Logins today', 'Patrons who logged in since the day started.')
    .span(4)
    .withTarget(now(LOGINS_TODAY));
}

function dataAge() {
  return stat(
    6,
    'Data age',
    'How long ago the figures were last read, of people or logins, whichever is older: orange from 5 minutes, red from 15.',
  )
    .span(4)
    .withTarget(now(DATA_AGE))
    .unit(units.Seconds)
    .thresholds(thresholds(AGE_STEPS));
}

function insideOverTime() {
  return lines(
    7,
    'People inside, over last week',
    'People inside over time; dashed the same time a week before. A gap is a time without fresh data.',
  )
    .span(16)
    .withTarget(overTime(INSIDE, 'now'))
    .withTarget(overTime(perCustomer('library_occupancy_people', 'offset 1w'), 'a week before'))
    .overrideByName('now', inColour('blue'))
    .overrideByName('a week before', dashed())
    .interval('1m');
}

function entriesAndExits() {
  return hourlyBarsAroundZero(
    9,
    'Entries and exits per hour',
    'People counted in, upwards, and out, downwards, within each hour, or within each longer step where the time range is long. Each bar ends at its time.',
  )
    .withTarget(overTime(grownBy('library_people_entered_total'), 'entries'))
    .withTarget(overTime(grownBy('library_people_exited_total'), 'exits'))
    .overrideByName('entries', inColour('blue'))
    .overrideByName('exits', [
      { id: 'custom.transform', value: GraphTransform.NegativeY },
      ...inColour('purple'),
    ]);
}

function loginsPerHour() {
  return hourlyBars(
    10,
    'Logins per hour',
    'Patrons who logged in within each hour, or within each longer step where the time range is long. Each bar ends at its time.',
  ).withTarget(overTime(grownBy('library_logins_total'), 'logins'));
}

function openAndClosed() {
  return states(
    11,
    'Open and closed',
    'The configured opening hours. Nothing is shown of a library without any.',
  )
    .span(24)
    .height(4)
    .withTarget(overTime(OPEN, 'opening hours'))
    .noValue('no opening hours configured')
    .mappings(mappings(OPEN_OR_CLOSED));
}

function weekdayByHour() {
  return weekByHour(
    12,
    'Entries by weekday and hour, mean of four weeks',
    "How many people usually come in within each hour of the week, on the library's own clock. The darker the busier.",
    `sum by (weekday, hour) (${byLocalHour(ENTRY_RATE, '4w')})`,
  );
}

function visitLength() {
  return lines(
    15,
    'Length of a visit (estimate)',
    "An estimate by Little's law: the mean number of people inside over three hours, divided by the entries of an hour in the same time. Only where more than 20 came in. It inherits the errors of the doors.",
  )
    .withTarget(overTime(VISIT_SECONDS, 'estimate'))
    .interval('15m')
    .unit(units.Seconds);
}

function loginsPerEntry() {
  return lines(
    16,
    'Logins per entry',
    'Patrons who logged in, as a share of the people who came in, over the 24 hours before each instant. Above 100 % people log in more than once, or the door misses some.',
  )
    .withTarget(
      overTime(
        `${growth('library_logins_total', '1d')} / (${ENTERED_IN_A_DAY} > 20)`,
        'logins per entry',
      ),
    )
    .interval('15m')
    .unit(units.PercentUnit);
}

function words() {
  return explanation(17, [
    'Figures of *today* start again at the hour at which the library’s day starts, 04:00 unless configured otherwise, in its own time zone, and follow the service’s corrections. Weekdays and hours in tables are the library’s own; time axes show the time of the viewer.',
    'People inside are entries less exits, minute by minute, never below 0: a door that misses people makes it drift until the next day. Branches and devices are read every five minutes unless configured otherwise, and names of devices are the service’s numbers.',
    'What compares with weeks before needs a Prometheus that keeps them (`--storage.tsdb.retention.time`, 15 days by default). No recording rules are needed. The red marks are alerts of `prometheus/rules`, where Prometheus has them.',
  ]);
}

/** Entries, exits or logins of each bar. */
function grownBy(counter: string): string {
  return `round(${growth(counter, '$__interval')})`;
}
