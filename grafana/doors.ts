/** The panels about a library's branches, doors and devices, and whether they count right. */
import {
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
} from '@grafana/grafana-foundation-sdk/common';
import * as units from '@grafana/grafana-foundation-sdk/units';
import { base, coloured, inUnit, step, thresholds } from './looks.ts';
import { bars, linesAroundZero, now, overTime } from './panels.ts';
import { CHOSEN, ENTERED_IN_A_DAY, growth } from './queries.ts';
import { table, withColumns } from './tables.ts';

/** The names of the branches, once each even while two exporters know different ones. */
const BRANCH_NAMES = `topk by (customer, branch) (1, max by (customer, branch, name) (library_branch_info{${CHOSEN}}))`;
const BRANCHES_TODAY = `max by (customer, branch) (library_branch_people_entered_today{${CHOSEN}}) * on (customer, branch) group_left (name) ${BRANCH_NAMES}`;

const EXITED_IN_A_DAY = growth('library_people_exited_total', '1d');

/**
 * Seconds since the end of the newest quarter of an hour in which the device's counter grew. There
 * is no such time among the metrics; a counter that is new or starts again has not grown.
 */
const SILENT_FOR = `time() - max by (device) (max_over_time((0 * (${counted('entered')} > 0 or ${counted('exited')} > 0) + time())[2w:15m]))`;
/** A library may be closed for two days. */
const SILENCE_STEPS = [base('green'), step(86_400, 'orange'), step(3 * 86_400, 'red')];

export function branches() {
  return bars(
    8,
    'Branches by entries today',
    'People counted in at each branch since the day started, the twelve busiest. Needs breakdowns: [branch] in the configuration.',
  )
    .span(8)
    .withTarget(now(`sort_desc(topk(12, ${BRANCHES_TODAY}))`, '{{name}}'))
    .noValue('no breakdown by branch');
}

export function devices() {
  const empty = table(
    13,
    'Devices and their last sign of life',
    'Each counter at a door: when it last counted anybody, to a quarter of an hour, within the last two weeks; red after three days. Needs breakdowns: [device] in the configuration.',
  )
    .span(12)
    .noValue('no breakdown by device');
  return withColumns(
    empty,
    ['device', 'Device'],
    [
      ['Last counted', SILENT_FOR, [...inUnit(units.Seconds), ...coloured(SILENCE_STEPS)]],
      ['Entered today', perDevice('library_device_people_entered_today')],
      ['Left today', perDevice('library_device_people_exited_today')],
      [
        'Entered in a week',
        `round(${perDevice('increase(library_device_people_entered_total', '[1w])')})`,
      ],
    ],
  );
}

export function drift() {
  return linesAroundZero(
    14,
    'Counter drift: entries less exits of a day',
    'By how much the entries of the 24 hours before each instant exceed the exits, as a share of the entries. Near 0 where everybody who came was also seen leaving; beyond 10 % a counter misses people in one direction.',
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

/** One value a device. */
function perDevice(metric: string, after = ''): string {
  return `max by (device) (${metric}{${CHOSEN}}${after})`;
}
