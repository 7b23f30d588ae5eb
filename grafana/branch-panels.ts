/** Panels about branches, doors and devices, and whether they count right. */
import {
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
} from '@grafana/grafana-foundation-sdk/common';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { base, coloured, inUnit, mappings, step, thresholds } from './theme.ts';
import { bars, linesAroundZero, now, overTime, states } from './panels.ts';
import { CHOSEN, ENTERED_IN_A_DAY, growth } from './queries.ts';
import { table, withColumns } from './tables.ts';

/** Names of the branches, one for each even if two exporters have different ones. */
const BRANCH_NAMES = `topk by (customer, branch) (1, max by (customer, branch, name) (library_branch_info{${CHOSEN}}))`;
const BRANCHES_TODAY = `max by (customer, branch) (library_people_entered_today{${CHOSEN},branch!=""}) * on (customer, branch) group_left (name) ${BRANCH_NAMES}`;

const EXITED_IN_A_DAY = growth('library_people_exited_total', '1d');

/**
 * Seconds since the last quarter of an hour in which the device's counter increased. No metric has
 * this time.
 */
const SILENT_FOR = `time() - max by (device) (max_over_time((0 * (${counted('entered')} > 0 or ${counted('exited')} > 0) + time())[2w:15m]))`;
/** A library may be closed for two days. */
const SILENCE_STEPS = [base('green'), step(86_400, 'orange'), step(3 * 86_400, 'red')];

export function branches() {
  return bars(
    8,
    'Branches by entries today',
    'Entries since the day started, the twelve busiest branches. Needs `breakdowns: [branch]`.',
  )
    .span(8)
    .withTarget(now(`sort_desc(topk(12, ${BRANCHES_TODAY}))`, '{{name}}'));
}

export function devices() {
  const empty = table(
    13,
    'Door counters: last count',
    'When each counter last counted anybody within two weeks, to a quarter of an hour; red after three days. Needs `breakdowns: [device]`.',
  ).span(12);
  return withColumns(
    empty,
    ['device', 'Device'],
    [
      ['Last counted', SILENT_FOR, [...inUnit(units.Seconds), ...coloured(SILENCE_STEPS)]],
      ['Entries today', perDevice('library_device_people_entered_today')],
      ['Exits today', perDevice('library_device_people_exited_today')],
      [
        'Entries in a week',
        `round(${perDevice('increase(library_device_people_entered_total', '[1w])')})`,
      ],
    ],
  );
}

export function drift() {
  return linesAroundZero(
    14,
    'Counter drift (entries minus exits, 24 h)',
    'As a share of the entries. Near 0 if everybody who came was also seen leaving; beyond 10 % a counter misses people in one direction.',
  )
    .withTarget(
      overTime(`(${ENTERED_IN_A_DAY} - ${EXITED_IN_A_DAY}) / (${ENTERED_IN_A_DAY} > 20)`, 'drift'),
    )
    .interval('15m')
    .unit(units.PercentUnit)
    .decimals(1)
    .thresholds(thresholds([base('red'), step(-0.1, 'green'), step(0.1, 'red')]))
    .thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed));
}

function counted(direction: 'entered' | 'exited'): string {
  return `increase(library_device_people_${direction}_total{${CHOSEN}}[15m])`;
}

/** The learned ratio, with the limits of the alert. */
export function doorRatio() {
  return linesAroundZero(
    17,
    'Entries counted per exit counted',
    'Learned from 28 days. 1 is right; below 0.9 or above 1.1 the doors need recalibration.',
  )
    .withTarget(overTime(`max by (customer) (library_door_count_ratio{${CHOSEN}})`, 'ratio'))
    .interval('15m')
    .decimals(2)
    .axisSoftMin(0.8)
    .axisSoftMax(1.2)
    .thresholds(thresholds([base('red'), step(0.9, 'green'), step(1.1, 'red')]))
    .thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(GraphThresholdsStyleMode.Dashed));
}

export function doorFaults() {
  return states(
    18,
    'Suspected door faults',
    'exits_missing: exits stopped while entries continue. entries_missing: exits without entries. silent: nothing is counted in a busy hour.',
  )
    .span(12)
    .height(9)
    .withTarget(overTime(`max by (customer, kind) (library_door_suspect{${CHOSEN}})`, '{{kind}}'))
    .mappings(mappings({ 0: ['no', 'green'], 1: ['suspected', 'red'] }));
}

/** One value for each device. */
function perDevice(metric: string, after = ''): string {
  return `max by (device) (${metric}{${CHOSEN}}${after})`;
}
