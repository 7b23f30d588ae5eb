/**
 * What is proven of the alerts about doors that count too little, but for the one that says that
 * nobody is counted.
 */
import type { AlertCase } from '../alert-case.ts';
import { ENTERED, EXITED, HELD, LAST_SUCCESS, OPEN, USUAL } from '../series.ts';
import { HOUR, allGoneFrom, atInstance, goneFrom, now, until } from '../story.ts';
import type { Story } from '../story.ts';
import { count, startAgainAt } from './passes.ts';

const DEVICE_SUCCESS = 'library_poll_last_success_timestamp_seconds{stream="device"}';
const SHARE = 'customer_device:library_device_people:share1w{device="101"}';
const A_WEEK_AGO = 'customer_device:library_device_people:increase3h_week_ago{device="101"}';
const DEVICE_IN = 'library_device_people_entered_total{device="101"}';
const DEVICE_OUT = 'library_device_people_exited_total{device="101"}';

/** One a minute over the library's doors each way; the device counts nobody after the first hour. */
const SILENT_DEVICE: Story = {
  [ENTERED]: count,
  [EXITED]: count,
  [LAST_SUCCESS]: now,
  [DEVICE_SUCCESS]: now,
  [DEVICE_IN]: countUntil(HOUR),
  [DEVICE_OUT]: countUntil(HOUR),
  'library_device_people_entered_total{device="102"}': count,
  'library_device_people_exited_total{device="102"}': count,
  'library_device_counter_excess{device="101",counter="people_entered"}': 0,
  [SHARE]: 0.4,
  'customer_device:library_device_people:share1w{device="102"}': 0.6,
  [A_WEEK_AGO]: 90,
};

/** One a minute, and one in six minutes after the second hour. */
const FAR_BELOW: Story = {
  [ENTERED]: until(2 * HOUR, count, (minute) => 2 * HOUR + Math.floor((minute - 2 * HOUR) / 6)),
  [LAST_SUCCESS]: now,
  [USUAL]: 60,
};

export const COUNTING_CASES: readonly AlertCase[] = [
  {
    alert: 'LibraryDeviceSilent',
    ofCustomer: true,
    minutes: 330,
    story: SILENT_DEVICE,
    // Nobody within three hours from minute 240 on.
    firesAt: 270,
    labels: { device: '101' },
    description:
      'Device 101 of riverside has counted nobody for three hours, in which about 144 passes were to be expected of it.',
    alsoFires: {
      'it is not listed any more since the month began': {
        change: { [DEVICE_IN]: goneFrom(HOUR + 1, count), [DEVICE_OUT]: goneFrom(HOUR + 1, count) },
        at: 270,
      },
      'over the beginning of a month': {
        change: {
          [ENTERED]: startAgainAt(200, count),
          [EXITED]: startAgainAt(200, count),
          [DEVICE_IN]: startAgainAt(200, countUntil(HOUR)),
          [DEVICE_OUT]: startAgainAt(200, countUntil(HOUR)),
        },
        at: 270,
      },
      'in the first week': { change: { [A_WEEK_AGO]: null }, at: 270 },
      'both replicas': { change: atInstance('b', SILENT_DEVICE), at: 270 },
      'another device is held': {
        change: { 'library_device_counter_excess{device="102",counter="people_entered"}': 4 },
        at: 270,
      },
    },
    silent: {
      'it counts': { [DEVICE_IN]: count, [DEVICE_OUT]: count },
      'it counts only those who leave': { [DEVICE_OUT]: count },
      'it counts over the beginning of a month': {
        [ENTERED]: startAgainAt(200, count),
        [EXITED]: startAgainAt(200, count),
        [DEVICE_IN]: startAgainAt(200, count),
        [DEVICE_OUT]: startAgainAt(200, count),
      },
      'the library is empty, as over night': {
        [ENTERED]: countUntil(HOUR),
        [EXITED]: countUntil(HOUR),
      },
      'few usually pass by it': { [SHARE]: 0.05 },
      'its branch is closed at this time of the week': { [A_WEEK_AGO]: 0 },
      'the figures by device are old': { [DEVICE_SUCCESS]: until(205, now, 205 * 60) },
      'the figures of the library are old': { [LAST_SUCCESS]: until(250, now, 250 * 60) },
      'its counter is held': {
        'library_device_counter_excess{device="101",counter="people_entered"}': 4,
      },
      'another replica sees it count': atInstance('b', { [DEVICE_IN]: count, [DEVICE_OUT]: count }),
      'devices are not configured any more': {
        [DEVICE_SUCCESS]: goneFrom(255, now),
        [DEVICE_IN]: goneFrom(255, countUntil(HOUR)),
        [DEVICE_OUT]: goneFrom(255, countUntil(HOUR)),
      },
      'the exporter is down': allGoneFrom(255, SILENT_DEVICE),
      'nothing is known of its part': { [SHARE]: null },
    },
    resolves: {
      'it counts again': {
        change: { [DEVICE_IN]: (minute) => Math.min(minute, HOUR) + Math.max(0, minute - 299) },
        at: 300,
      },
    },
    mutations: [
      ['>= 20', '>= 10'],
      ['exited_total[3h])) > 0', 'exited_total[3h])) < 0'],
      ['entered_total[3h])) > 0', 'entered_total[3h])) == 0'],
      ['week_ago == 0', 'week_ago < 0'],
      [
        'unless on (customer, device)\n  (\n    customer_device',
        'and on (customer, device)\n  (\n    customer_device',
      ],
      ['< 3600', '< 1e9'],
      ['stream="device"', 'stream="people"'],
      ['poll_age:seconds < 900', 'poll_age:seconds < 1e9'],
      ['library_device_counter_excess)) > 0', 'library_device_counter_excess)) > 100'],
      ['for: 30m', 'for: 28m'],
    ],
  },
  {
    alert: 'LibraryFarBelowUsual',
    ofCustomer: true,
    minutes: 320,
    story: FAR_BELOW,
    // Fewer than fifteen within an hour from minute 175 on.
    firesAt: 235,
    labels: {},
    description:
      'riverside counts 16.67% of the people that have come in at this hour in the median of the last four weeks.',
    alsoFires: {
      'within the opening hours': { change: { [OPEN]: 1 }, at: 235 },
      'both replicas': { change: atInstance('b', FAR_BELOW), at: 235 },
      'over the beginning of a month': {
        change: {
          [ENTERED]: startAgainAt(
            200,
            until(2 * HOUR, count, (minute) => 2 * HOUR + Math.floor((minute - 2 * HOUR) / 6)),
          ),
        },
        at: 235,
      },
    },
    silent: {
      'as many as usual': { [ENTERED]: count },
      'as many as usual, over the beginning of a month': { [ENTERED]: startAgainAt(200, count) },
      'a third of the usual': {
        [ENTERED]: until(
          2 * HOUR,
          count,
          (minute) => 2 * HOUR + Math.floor((minute - 2 * HOUR) / 3),
        ),
      },
      'nobody at all, which is another alert': { [ENTERED]: countUntil(2 * HOUR) },
      'few usually come': { [USUAL]: 18, [ENTERED]: countUntil(HOUR + 118, 60) },
      'in the first week': { [USUAL]: null },
      'on a holiday, by the opening hours': { [OPEN]: 0 },
      'it has just opened': { [OPEN]: until(210, 0, 1) },
      'people have just begun to come, usually': { [USUAL]: until(210, 5, 60) },
      'it closes early': { [OPEN]: until(230, 1, 0) },
      'the figures are old': { [LAST_SUCCESS]: until(200, now, 200 * 60) },
      'the exporter was down, and the window is short': {
        [ENTERED]: (minute) => (minute >= 130 && minute < 200 ? undefined : minute),
        [LAST_SUCCESS]: (minute) => (minute >= 130 && minute < 200 ? undefined : now(minute)),
      },
      'the counter is held': { [HELD]: 3 },
      'another replica counts more': atInstance('b', { [ENTERED]: count }),
    },
    resolves: {
      'people come again': {
        change: {
          [ENTERED]: (minute) =>
            Math.min(minute, 2 * HOUR) +
            Math.floor(Math.max(0, Math.min(minute, 260) - 2 * HOUR) / 6) +
            Math.max(0, minute - 260),
        },
        at: 266,
      },
    },
    mutations: [
      ['increase1h > 0', 'increase1h >= 0'],
      ['usual1h[1h]) >= 20', 'usual1h[1h]) >= 10'],
      ['min_over_time(customer:', 'max_over_time(customer:'],
      ['< 0.25', '< 0.5'],
      ['poll_age:seconds < 900', 'poll_age:seconds < 1e9'],
      ['(min_over_time(library_open[1h]))', '(library_open)'],
      ['(library_open[1h])) == 0', '(library_open[1h])) < 0'],
      ['{counter=~"people_.+"})) > 0', '{counter=~"people_.+"})) > 100'],
      ['for: 1h', 'for: 40m'],
    ],
  },
];

/** One a minute up to a minute; with a second number, one in so many minutes from then on. */
function countUntil(lastMinute: number, every = Infinity): (minute: number) => number {
  return (minute) =>
    Math.min(minute, lastMinute) + Math.floor(Math.max(0, minute - lastMinute) / every);
}
