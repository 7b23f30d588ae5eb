/** What is proven of the alerts about who is inside: too many, left behind, or not known that well. */
import type { AlertCase } from '../alert-case.ts';
import { ENTERED, EXITED, HELD, LAST_SUCCESS, OCCUPANCY, OPEN, TODAY } from '../series.ts';
import { DAY, HOUR, allGoneFrom, atInstance, goneFrom, now, until } from '../story.ts';
import type { Story } from '../story.ts';
import { startAgainAt } from './passes.ts';

const CAPACITY = 'library_capacity_people';

const TOO_MANY: Story = { [OCCUPANCY]: until(20, 80, 120), [CAPACITY]: 100 };

const LEFT_BEHIND: Story = { [OCCUPANCY]: 30, [TODAY]: 500, [OPEN]: until(HOUR, 1, 0) };

/** Open from 8 to 20, one in a minute, but of five who go out only four are counted. */
const DRIFT: Story = {
  [ENTERED]: comings,
  [EXITED]: (minute) => Math.floor(0.8 * comings(minute)),
  [LAST_SUCCESS]: now,
  [HELD]: 0,
};

export const INSIDE_CASES: readonly AlertCase[] = [
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
        change: { 'library_counter_excess{counter="logins"}': 5 },
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
      ['{counter=~"people_.+"}', ''],
      ['for: 12h', 'for: 3h'],
    ],
  },
];

/** One in every minute from 8 to 20. */
function comings(minute: number): number {
  const ofDay = minute % DAY;
  return Math.floor(minute / DAY) * 12 * HOUR + Math.min(12 * HOUR, Math.max(0, ofDay - 8 * HOUR));
}

function withoutThirdDay(minute: number): number {
  return minute < 2 * DAY ? comings(minute) : comings(Math.max(2 * DAY, minute - DAY));
}
