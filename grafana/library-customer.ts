/** Everything about one library, from people inside to dead doors. */
import { BigValueTextMode, GraphTransform } from '@grafana/grafana-foundation-sdk/common';
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { branches, devices, doorFaults, doorRatio, drift } from './branch-panels.ts';
import { alerts, customerChoice, frame } from './frame.ts';
import {
  AGE_STEPS,
  FULLNESS_STEPS,
  LAST_WEEK_STEPS,
  OPEN_OR_CLOSED,
  background,
  band,
  dashed,
  inColour,
  mappings,
  thresholds,
} from './theme.ts';
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
import { NEEDS_ATTENTION } from './problems.ts';
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
  RAW_INSIDE,
  byLocalHour,
  growth,
  ofSites,
} from './queries.ts';
import { table, weekByHour, withLabels } from './tables.ts';

/** Little's law: people inside divided by arrivals per second. After closing it would be nonsense. */
const VISIT_SECONDS =
  `sum by (customer) (max by (customer, branch) (avg_over_time(library_occupancy_people{${CHOSEN}}[3h])))` +
  ` / (${growth('library_people_entered_total', '3h')} > 20) * ${3 * 3_600}` +
  ` unless on (customer) ${OPEN} == 0`;

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryCustomer(): Dashboard {
  return frame('library-customer', 'Everything about one library.')
    .withVariable(customerChoice())
    .annotation(alerts(',customer=~"$customer"'))
    .withPanel(needsAttention())
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
    .withPanel(doorRatio())
    .withPanel(doorFaults())
    .withPanel(drift())
    .withPanel(visitLength())
    .withPanel(loginsPerEntry())
    .withPanel(words())
    .build();
}

function needsAttention() {
  const empty = table(
    20,
    'Needs attention',
    'Problems that this library, or an exporter, probably has now; the values below may be wrong then.',
  )
    .span(24)
    .height(4)
    .noValue('no problem found')
    .overrideByName('Problem', background('dark-red'));
  return withLabels(empty, NEEDS_ATTENTION, { problem: 'Problem' });
}

function insideNow() {
  return stat(
    1,
    'Inside now',
    'People inside: the estimate where there is one, else the raw value (entries minus exits).',
  )
    .span(4)
    .textMode(BigValueTextMode.ValueAndName)
    .withTarget(now(INSIDE, '{{source}}'));
}

function fullness() {
  return stat(
    2,
    'Share of capacity',
    'The same people inside against the configured capacity: orange from 80 %, red from 100 %. Not known without a capacity.',
  )
    .span(4)
    .withTarget(now(FULLNESS))
    .unit(units.PercentUnit)
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
    'Against last week',
    "Today's entries against the same time of the same weekday last week. Orange: less than half or more than double.",
  )
    .span(4)
    .withTarget(now(AGAINST_LAST_WEEK))
    .unit(units.PercentUnit)
    .thresholds(thresholds(LAST_WEEK_STEPS));
}

function loginsToday() {
  return stat(5, 'Logins today', 'Patron logins since the day started.')
    .span(4)
    .withTarget(now(LOGINS_TODAY));
}

function dataAge() {
  return stat(
    6,
    'Data age',
    'Time since the last successful poll of people or logins, whichever is older: orange from 5 minutes, red from 15.',
  )
    .span(4)
    .withTarget(now(DATA_AGE))
    .unit(units.Seconds)
    .thresholds(thresholds(AGE_STEPS));
}

function insideOverTime() {
  return lines(
    7,
    'People inside: now and a week ago',
    'The estimate with its 90 % interval, the raw value (entries minus exits) as a thin line, and the raw value a week ago dashed. A gap means no recent data.',
  )
    .span(16)
    .withTarget(overTime(ofSites('library_occupancy_estimate_people'), 'estimate'))
    .withTarget(overTime(ofSites('library_occupancy_estimate_lower_people'), 'lower'))
    .withTarget(overTime(ofSites('library_occupancy_estimate_upper_people'), 'upper'))
    .withTarget(overTime(RAW_INSIDE, 'raw'))
    .withTarget(overTime(ofSites('library_occupancy_people', 'offset 1w'), 'a week ago'))
    .overrideByName('estimate', inColour('blue'))
    .overrideByName('lower', band())
    .overrideByName('upper', band('lower'))
    .overrideByName('raw', inColour('text'))
    .overrideByName('a week ago', dashed())
    .interval('1m');
}

function entriesAndExits() {
  return hourlyBarsAroundZero(
    9,
    'Entries and exits per hour',
    'Entries upwards, exits downwards, per hour, or per longer step if the time range is long. Each bar ends at its time; the running hour is not shown.',
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
    'Patron logins per hour, or per longer step if the time range is long. Each bar ends at its time; the running hour is not shown.',
  ).withTarget(overTime(grownBy('library_logins_total'), 'logins'));
}

function openAndClosed() {
  return states(11, 'Open and closed', 'The configured opening hours.')
    .span(24)
    .height(4)
    .withTarget(overTime(OPEN, 'opening hours'))
    .mappings(mappings({ ...OPEN_OR_CLOSED, 0: ['closed', 'light-blue'] }));
}

function weekdayByHour() {
  return weekByHour(
    12,
    'Average entries by weekday and hour, four weeks',
    'In local time. The stronger the colour, the busier.',
    `sum by (weekday, hour) (${byLocalHour(ENTRY_RATE, '4w')})`,
  );
}

function visitLength() {
  return lines(
    15,
    'Length of a visit (estimate)',
    "By Little's law: average people inside over three hours, divided by the entries per hour. Only while open, and with more than 20 entries. It has the errors of the doors.",
  )
    .withTarget(overTime(`(${VISIT_SECONDS}) / 60`, 'estimate'))
    .interval('15m')
    .unit(units.Minutes);
}

function loginsPerEntry() {
  return lines(
    16,
    'Logins per entry',
    'Patron logins divided by entries, over the last 24 hours. Above 100 %, people log in more than once or the door misses some.',
  )
    .withTarget(
      overTime(
        `${growth('library_logins_total', '1d')} / (${ENTERED_IN_A_DAY} > 20)`,
        'logins per entry',
      ),
    )
    .interval('15m')
    .decimals(1)
    .unit(units.PercentUnit);
}

function words() {
  return explanation(19, [
    '*Today* starts at the library’s own `day_starts_at` (04:00 by default) and includes corrections of the service. Weekdays and hours in tables are local; time axes show the viewer’s time.',
    'The raw value of people inside is entries minus exits, never below 0; it drifts if doors miscount. The estimate corrects that (docs/occupancy.md). Branches and devices are read every five minutes by default; devices have the service’s numbers.',
    'Comparisons with earlier weeks need a Prometheus that keeps that history (`--storage.tsdb.retention.time`, 15 days by default). No recording rules are needed. Red marks are alerts of `prometheus/rules`, if Prometheus has them.',
  ]);
}

/** Increase within each bar. */
function grownBy(counter: string): string {
  return `round(${growth(counter, '$__interval')})`;
}
