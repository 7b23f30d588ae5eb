/** Everything about one library, from people inside to dead doors. */
import { RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard';
import { doorFaults, doorRatio, doors } from './door-panels.ts';
import { allBranches, customerChoice, frame } from './frame.ts';
import { hourlyBars, lines, namedStat, narrowLegend, now, overTime } from './panels.ts';
import { silentWithinADay, trusted } from './problems.ts';
import {
  BRANCHES as OF,
  capacity,
  comparable,
  customerGauge,
  entered,
  enteredLastHour,
  gauge,
  inside,
  logins,
  namedSites,
} from './queries.ts';
import { insideNow, lastHour, needsAttention, today } from './site-panels.ts';
import { sorted, table, withColumns } from './tables.ts';
import { asLine, band, dashed, inColour } from './theme.ts';

/**
 * From the start of the first day to the end of the last one. The range of the dashboard ends now, because its
 * end is when Grafana asks for single values.
 */
const WHOLE_DAY = '0d/d';

/** The whole dashboard, before `dashboardFile` finishes it. */
export function libraryCustomer(): Dashboard {
  return frame('library-customer', 'Everything about one library and its branches.')
    .time({ from: 'now/d', to: 'now' })
    .withVariable(customerChoice())
    .withVariable(allBranches())
    .withPanel(needsAttention(1, OF).height(4))
    .withPanel(insideAndCapacity())
    .withPanel(lastHour(3, OF).span(7))
    .withPanel(today(4, OF).span(7))
    .withPanel(loginsToday())
    .withPanel(insideOverTime())
    .withPanel(branches())
    .withPanel(entriesPerHour())
    .withPanel(loginsPerHour())
    .withRow(
      new RowBuilder('Doors')
        .id(19)
        .collapsed(true)
        .withPanel(doors())
        .withPanel(doorRatio())
        .withPanel(doorFaults()),
    )
    .build();
}

function insideAndCapacity() {
  const people = trusted(OF, inside(OF));
  return insideNow(2, OF)
    .span(6)
    .withTarget(now(`sum(${comparable(capacity(OF), people)})`, 'capacity'))
    .overrideByName('capacity', inColour('text'));
}

function loginsToday() {
  const value = customerGauge(OF, 'library_logins_today');
  const earlier = customerGauge(OF, 'library_logins_today', 'offset 1w');
  return namedStat(
    5,
    'Logins today',
    'Patron logins since the day started, and those by this time a week ago. They are of the library as a whole.',
  )
    .span(4)
    .withTarget(now(`sum(${value})`, 'today'))
    .withTarget(now(`sum(${earlier} and on (customer) ${value})`, 'a week ago'))
    .overrideByName('a week ago', inColour('text'));
}

function insideOverTime() {
  return lines(
    6,
    'People inside',
    'All chosen branches together: the estimate with its 90 % interval, and dashed what is usual, until the day ends. Branches where nobody was being counted within the last day are in neither, unless no other is chosen.',
  )
    .span(16)
    .timeShift(WHOLE_DAY)
    .hideTimeOverride(true)
    .legend(narrowLegend())
    .interval('5m')
    .withTarget(overTime(whereCounted(inside(OF)), 'people inside'))
    .withTarget(overTime(whereCounted(inside(OF, `${ESTIMATE}_lower_people`)), 'lower'))
    .withTarget(overTime(whereCounted(inside(OF, `${ESTIMATE}_upper_people`)), 'upper'))
    .withTarget(overTime(whereCounted(allDay('library_occupancy_usual_people')), 'usual'))
    .overrideByName('people inside', inColour('blue'))
    .overrideByName('lower', band())
    .overrideByName('upper', band('lower'))
    .overrideByName('usual', dashed());
}

const ESTIMATE = 'library_occupancy_estimate';

/** What is usual, and for the rest of the day what was usual a week ago. */
function allDay(gaugeOfUsual: string): string {
  return `(${gauge(OF, gaugeOfUsual)} or ${gauge(OF, gaugeOfUsual, 'offset 1w')})`;
}

function whereCounted(value: string): string {
  return `sum(${value} unless on (customer, branch) ${silentWithinADay(OF)})`;
}

function branches() {
  const empty = table(
    7,
    'Branches',
    'The fullest first. People inside are not known where the counts are in doubt.',
  ).span(8);
  return sorted(
    withColumns(empty, { name: 'Branch', branch: '', customer: '' }, [
      ['', namedSites(OF)],
      ['Inside', trusted(OF, inside(OF))],
      ['Today', entered(OF)],
      ['Usual by now', gauge(OF, 'library_people_entered_usual_today')],
    ]),
    'Inside',
  );
}

function entriesPerHour() {
  return hourlyBars(
    8,
    'Entries per hour',
    'All chosen branches together, and as a line what is usual. Each bar ends at its time; the running hour is not shown. Branches where nobody was being counted within the last day are in neither, unless no other is chosen.',
  )
    .timeShift(WHOLE_DAY)
    .hideTimeOverride(true)
    .legend(narrowLegend())
    .withTarget(overTime(whereCounted(enteredLastHour(OF)), 'entries'))
    .withTarget(overTime(whereCounted(allDay('library_people_entered_usual_hour')), 'usual'))
    .overrideByName('entries', inColour('blue'))
    .overrideByName('usual', asLine());
}

function loginsPerHour() {
  return hourlyBars(
    9,
    'Logins per hour',
    'Of the library as a whole. Each bar ends at its time; the running hour is not shown.',
  )
    .timeShift(WHOLE_DAY)
    .hideTimeOverride(true)
    .legend(narrowLegend())
    .withTarget(overTime(`round(sum(${logins(OF, '$__interval')}))`, 'logins'))
    .overrideByName('logins', inColour('blue'));
}
