/** What is proven of the alerts about what is counted, but for the one that says that nobody is. */
import type { AlertCase } from '../alert-case.ts';
import { DAY, HOUR, allGoneFrom, atInstance, goneFrom, now, until } from '../story.ts';
import type { Story, Value } from '../story.ts';

const LAST_SUCCESS = 'library_poll_last_success_timestamp_seconds{stream="people"}';
const DEVICE_SUCCESS = 'library_poll_last_success_timestamp_seconds{stream="device"}';
const ENTERED = 'library_people_entered_total';
const EXITED = 'library_people_exited_total';
const HELD = 'library_held_counts{kind="people_entered"}';
const OPEN = 'library_open';
const OCCUPANCY = 'library_occupancy_people';
const CAPACITY = 'library_capacity_people';
const TODAY = 'library_people_entered_today';
const USUAL = 'customer:library_people_entered:usual1h';
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
  'library_device_held_counts{device="101",kind="people_entered"}': 0,
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

const TOO_MANY: Story = { [OCCUPANCY]: until(20, 80, 120), [CAPACITY]: 100 };

const LEFT_BEHIND: Story = { [OCCUPANCY]: 30, [TODAY]: 500, [OPEN]: until(HOUR, 1, 0) };

/** Open from 8 to 20, one in a minute, but of five who go out only four are counted. */
const DRIFT: Story = {
  [ENTERED]: comings,
  [EXITED]: (minute) => Math.floor(0.8 * comings(minute)),
  [LAST_SUCCESS]: now,
  [HELD]: 0,
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
        change: { 'library_device_held_counts{device="102",kind="people_entered"}': 4 },
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
        'library_device_held_counts{device="101",kind="people_entered"}': 4,
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
      ['library_device_held_counts)) > 0', 'library_device_held_counts)) > 100'],
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
      ['{kind=~"people_.+"})) > 0', '{kind=~"people_.+"})) > 100'],
      ['for: 1h', 'for: 40m'],
    ],
  },
  {
    alert: 'LibraryOverCapacity',
    ofCustomer: true,
    minutes: 90,
    story: TOO_MANY,
    firesAt: 25,
    labels: {},
    description: 'riverside is at 120% of its capacity.',
    alsoFires: {
      'within the opening hours': { change: { [OPEN]: 1 }, at: 25 },
      'both replicas': { change: atInstance('b', TOO_MANY), at: 25 },
    },
    silent: {
      'it is full, and not more': { [OCCUPANCY]: 100 },
      'a class goes through': { [OCCUPANCY]: (minute) => (minute >= 20 && minute < 24 ? 120 : 80) },
      'no capacity is configured': { [CAPACITY]: null },
      'it is closed': { [OPEN]: 0 },
      'the figures are old': { [OCCUPANCY]: goneFrom(23, until(20, 80, 120)) },
      'the day begins': { [OCCUPANCY]: (minute) => (minute >= 20 && minute < 23 ? 120 : 0) },
    },
    resolves: {
      // It goes on for ten minutes, for people come and go.
      'enough leave': {
        change: { [OCCUPANCY]: (minute) => (minute >= 20 && minute < 40 ? 120 : 90) },
        at: 50,
      },
    },
    mutations: [
      ['> 1', '>= 1'],
      ['(library_open) == 0', '(library_open) < 0'],
      ['for: 5m', 'for: 3m'],
      ['keep_firing_for: 10m', 'keep_firing_for: 1m'],
    ],
  },
  {
    alert: 'LibraryPeopleAfterClosing',
    ofCustomer: true,
    minutes: 10 * HOUR,
    story: LEFT_BEHIND,
    // Closed for an hour from minute 120 on.
    firesAt: 125,
    labels: {},
    description: 'riverside has been closed for an hour, and 30 people are inside by its counters.',
    alsoFires: { 'both replicas': { change: atInstance('b', LEFT_BEHIND), at: 125 } },
    silent: {
      'ten people, of a hundred who came': { [OCCUPANCY]: 10, [TODAY]: 100 },
      'one in twenty of those who came': { [TODAY]: 600 },
      'it is open': { [OPEN]: 1 },
      'it has no opening hours': { [OPEN]: null },
      'they leave within the hour': { [OCCUPANCY]: until(110, 30, 2) },
      'a break at noon': { [OPEN]: (minute) => Number(minute % 119 < HOUR) },
      'staff, before it opens': { [OPEN]: until(9 * HOUR, 0, 1) },
      'the figures are old': { [OCCUPANCY]: goneFrom(115, 30) },
      'the day begins': { [OCCUPANCY]: until(115, 30, 0), [TODAY]: until(115, 500, 0) },
    },
    resolves: {
      'they leave': { change: { [OCCUPANCY]: until(180, 30, 3) }, at: 180 },
      'the day begins with nobody': {
        change: { [OCCUPANCY]: until(300, 30, 0), [TODAY]: until(300, 500, 0) },
        at: 300,
      },
      'eight hours after closing': { change: {}, at: 9 * HOUR },
    },
    mutations: [
      ['> 10', '>= 10'],
      ['0.05 *', '0.01 *'],
      ['max_over_time(library_open[1h])', 'library_open'],
      ['(library_open[8h])) == 1', '(library_open[8h])) >= 0'],
      ['for: 5m', 'for: 4m'],
    ],
  },
  {
    alert: 'LibraryEntriesExitsDrift',
    ofCustomer: true,
    step: 5,
    minutes: 3 * DAY + 12 * HOUR,
    story: DRIFT,
    // A hundred in and out from 8:56 on.
    firesAt: 20 * HOUR + 56,
    labels: {},
    description:
      'Over a day, entries and exits of riverside are 20% apart. Who is inside is not known that well.',
    alsoFires: {
      'both replicas': { change: atInstance('b', DRIFT), at: 21 * HOUR },
      'more go than come': {
        change: { [ENTERED]: (minute) => Math.floor(0.8 * comings(minute)), [EXITED]: comings },
        at: 21 * HOUR,
      },
      'nobody is counted in at all': {
        change: { [ENTERED]: 0, [EXITED]: comings },
        at: 21 * HOUR + 40,
      },
      'only logins are held': {
        change: { 'library_held_counts{kind="logins"}': 5 },
        at: 21 * HOUR,
      },
      'over the beginning of a month': {
        change: {
          [ENTERED]: startAgainAt(19 * HOUR, comings),
          [EXITED]: startAgainAt(19 * HOUR, (minute) => Math.floor(0.8 * comings(minute))),
        },
        at: 21 * HOUR,
      },
    },
    silent: {
      'one of twenty is missed': { [EXITED]: (minute) => Math.floor(0.95 * comings(minute)) },
      'everybody stays for two hours': { [EXITED]: (minute) => comings(Math.max(0, minute - 120)) },
      'everybody stays for two hours, and it is closed on the third day': {
        [ENTERED]: withoutThirdDay,
        [EXITED]: (minute) => withoutThirdDay(Math.max(0, minute - 120)),
      },
      'few come': {
        [ENTERED]: (minute) => Math.floor(comings(minute) / 15),
        [EXITED]: (minute) => Math.floor(comings(minute) / 30),
      },
      'a counter was held within the last day': {
        [HELD]: (minute) => (minute % (18 * HOUR) < HOUR ? 5 : 0),
      },
      'the figures are old': { [LAST_SUCCESS]: until(20 * HOUR, now, 20 * 3600) },
      'the exporter is down': allGoneFrom(20 * HOUR, DRIFT),
      'both start again with the month': {
        [ENTERED]: startAgainAt(30 * HOUR, comings),
        [EXITED]: startAgainAt(30 * HOUR, comings),
      },
    },
    resolves: {
      'all are counted again': {
        change: {
          [EXITED]: (minute) =>
            Math.floor(0.8 * comings(Math.min(minute, 2 * DAY))) +
            comings(minute) -
            comings(Math.min(minute, 2 * DAY)),
        },
        // Half of the day that is looked at is after the change.
        at: 2 * DAY + 14 * HOUR,
      },
    },
    mutations: [
      ['> 0.1', '> 0.04'],
      ['> 0.1', '> 0.3'],
      ['abs(customer:library_people_drift:ratio1d)', 'customer:library_people_drift:ratio1d'],
      ['>= 100', '>= 10'],
      ['poll_age:seconds < 900', 'poll_age:seconds < 1e9'],
      ['[1d:5m]', '[1h:5m]'],
      ['{kind=~"people_.+"}', ''],
      ['for: 12h', 'for: 3h'],
    ],
  },
];

function count(minute: number): number {
  return minute;
}

/** One a minute up to a minute; with a second number, one in so many minutes from then on. */
function countUntil(lastMinute: number, every = Infinity): (minute: number) => number {
  return (minute) =>
    Math.min(minute, lastMinute) + Math.floor(Math.max(0, minute - lastMinute) / every);
}

/** At 0 from a minute on, and what is counted after it. */
function startAgainAt(minute: number, before: (minute: number) => number): Value {
  return until(minute, before, (later) => before(later) - before(minute));
}

/** One in every minute from 8 to 20. */
function comings(minute: number): number {
  const ofDay = minute % DAY;
  return Math.floor(minute / DAY) * 12 * HOUR + Math.min(12 * HOUR, Math.max(0, ofDay - 8 * HOUR));
}

function withoutThirdDay(minute: number): number {
  return minute < 2 * DAY ? comings(minute) : comings(Math.max(2 * DAY, minute - DAY));
}
