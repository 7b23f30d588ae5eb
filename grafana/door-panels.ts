/** Panels about door counters, and whether they count right. */
import {
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
} from '@grafana/grafana-foundation-sdk/common';
import { linesAroundZero, narrowLegend, overTime, states } from './panels.ts';
import { missedByDoor } from './problems.ts';
import { BRANCHES as OF, gauge, named } from './queries.ts';
import { table, withColumns } from './tables.ts';
import { AGO, BAD, ON_RED, base, coloured, dashFor, mappings, step, thresholds } from './theme.ts';

/** What the kinds of faults are called. */
const FAULTS: Readonly<Record<string, string>> = {
  silent: 'nobody is counted',
  entries_missing: 'entries are missing',
  exits_missing: 'exits are missing',
  unbalanced: 'entries and exits do not match',
};

export function doors() {
  const empty = table(
    20,
    'Door counters',
    'When each counter last counted anybody within a week, to half an hour, and how many people it has probably missed today. Door counters are of the library as a whole. Needs `breakdowns: [device]`.',
  ).span(8);
  return withColumns(empty, { device: 'Door counter' }, [
    ['Last count', `1000 * ${lastCount()}`, AGO],
    [
      'Missed today',
      `max by (device) (${missedByDoor(OF)} or on (customer, device) 0 * library_device_people_entered_today{${OF.customers}} - 1)`,
      [...dashFor(-1), ...coloured([base('text'), step(10, BAD)])],
    ],
  ]);
}

/** Unix time of the last half hour in which a counter increased; absent where none did. */
function lastCount(): string {
  return `max by (device) (max_over_time((0 * (${rose('entered')} or ${rose('exited')}) + time())[1w:30m]))`;
}

function rose(direction: 'entered' | 'exited'): string {
  const counter = `library_device_people_${direction}_total{${OF.customers}}`;
  return `${counter} > ${counter} offset 30m`;
}

/** The learned ratio, with the limits of the alert. */
export function doorRatio() {
  return linesAroundZero(
    21,
    'Entries counted per exit counted',
    'Learned from 28 days. 1 is right; in the red, below 0.9 or above 1.1, the doors need attention.',
  )
    .span(8)
    .legend(narrowLegend())
    .withTarget(overTime(named(OF, gauge(OF, 'library_door_count_ratio')), '{{customer}} {{name}}'))
    .interval('15m')
    .decimals(2)
    .axisSoftMin(0.8)
    .axisSoftMax(1.2)
    .thresholds(thresholds([base('red'), step(0.9, 'transparent'), step(1.1, 'red')]))
    .thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Area));
}

export function doorFaults() {
  const suspected = `max by (customer, kind) (library_door_suspect{${OF.sites}})`;
  const inWords = Object.entries(FAULTS).reduce(
    (query, [kind, words]) => `label_replace(${query}, "fault", "${words}", "kind", "${kind}")`,
    suspected,
  );
  return states(
    22,
    'Suspected door faults',
    'What the exporter suspects of the chosen branches: what makes the counts of the day wrong.',
  )
    .span(8)
    .height(9)
    .fillOpacity(100)
    .withTarget(overTime(inWords, '{{fault}}'))
    .mappings(mappings({ 0: ['no', 'transparent'], 1: ['suspected', ON_RED] }));
}
