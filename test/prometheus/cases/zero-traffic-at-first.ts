/**
 * What is proven of the alert that says that nobody is counted, where it is not known yet what is
 * usual.
 */
import type { AlertCase } from '../alert-case.ts';
import { HELD, LAST_SEEN, LAST_SUCCESS, OCCUPANCY, OPEN, USUAL } from '../series.ts';
import { DAY, HOUR, goneFrom, now, until } from '../story.ts';
import type { Story } from '../story.ts';
import { seenUntil } from './passes.ts';

/** Open from 8 to 20; nobody passes after the first day's 10:00. */
const FIRST_WEEK: Story = {
  // The exporter forgets it at the start of the day after the next.
  [LAST_SEEN]: goneFrom(2 * DAY + 4 * HOUR, seenUntil(10 * HOUR)),
  [LAST_SUCCESS]: now,
  [OCCUPANCY]: 0,
  [OPEN]: isOpen,
};

const REOPENS = 3 * DAY + 8 * HOUR;

const CLOSED_FOR_TWO_DAYS: Story = {
  [OPEN]: (minute) => (minute < DAY || minute >= 3 * DAY ? isOpen(minute) : 0),
};

export const FIRST_ZERO_TRAFFIC_CASES: readonly AlertCase[] = [
  {
    alert: 'LibraryZeroTraffic',
    side: 'in the first week',
    ofCustomer: true,
    step: 10,
    minutes: 3 * DAY + 12 * HOUR,
    story: FIRST_WEEK,
    // Longer than a day from the next day's 10:01 on.
    firesAt: DAY + 10 * HOUR + 6,
    labels: {},
    description:
      'riverside has counted nobody for at least 1d 0h 6m 0s, while its figures are fresh and the library is not known to be closed.',
    alsoFires: {
      'without opening hours, while people log in': {
        change: { [OPEN]: null, library_logins_last_seen_timestamp_seconds: now },
        at: DAY + 10 * HOUR + 20,
      },
      'after three days, without opening hours': {
        change: { [OPEN]: null },
        at: 3 * DAY + 10 * HOUR + 20,
      },
      'after three days, though nobody is usual by now': {
        change: { [OPEN]: null, [USUAL]: 0 },
        at: 3 * DAY + 10 * HOUR + 20,
      },
      'again on each day, though the exporter has forgotten since when': {
        change: {},
        at: REOPENS + HOUR + 10,
      },
      'nobody was ever seen': { change: { [LAST_SEEN]: null }, at: 9 * HOUR + 10 },
    },
    silent: {
      'it reopens after two days, and somebody comes after three hours': {
        ...CLOSED_FOR_TWO_DAYS,
        [LAST_SEEN]: reopened(20 * HOUR, REOPENS + 170),
      },
      'without opening hours, closed over a weekend': {
        [OPEN]: null,
        [LAST_SEEN]: reopened(13 * HOUR, REOPENS),
      },
      'without opening hours, nobody logs in either': {
        [OPEN]: null,
        library_logins_last_seen_timestamp_seconds: goneFrom(
          2 * DAY + 4 * HOUR,
          seenUntil(10 * HOUR),
        ),
        [LAST_SEEN]: reopened(10 * HOUR, 3 * DAY + 9 * HOUR),
      },
      'nobody is usual': { [USUAL]: 0, [LAST_SEEN]: reopened(10 * HOUR, 3 * DAY + 9 * HOUR) },
      'open for two hours a day': {
        [OPEN]: (minute) => Number(minute % DAY >= 9 * HOUR && minute % DAY < 11 * HOUR),
      },
      'the figures are old': { [LAST_SUCCESS]: until(DAY, now, DAY * 60) },
      'the counter is held': { [HELD]: 1 },
      'somebody passes on every day': {
        [LAST_SEEN]: (minute) =>
          60 * (minute - (minute % DAY) + Math.min(minute % DAY, 8 * HOUR + 30)),
      },
    },
    resolves: {
      'somebody passes': {
        change: { [LAST_SEEN]: until(DAY + 12 * HOUR, seenUntil(10 * HOUR), now) },
        at: DAY + 12 * HOUR,
      },
      'it closes for the night': { change: {}, at: DAY + 20 * HOUR },
    },
    mutations: [
      ['> 86400', '> 80000'],
      ['> 259200', '> 230000'],
      ['> 259200', '> 1e9'],
      ['avg1d < 0.125', 'avg1d < 0'],
      [
        'unless on (customer)\n      customer:library_people_entered:usual1h\n',
        'unless on (customer)\n      customer:library_people_entered:usual1h < -1\n',
      ],
      ['_timestamp_seconds) < 3600', '_timestamp_seconds) < 1e9'],
      ['poll_age:seconds < 900', 'poll_age:seconds < 1e9'],
    ],
  },
];

/** Nobody from one minute to another; forgotten meanwhile, as the exporter does. */
function reopened(from: number, to: number): (minute: number) => number | undefined {
  const forgottenAt = from - (from % DAY) + 2 * DAY + 4 * HOUR;
  return (minute) =>
    minute >= to ? now(minute) : minute >= forgottenAt ? undefined : seenUntil(from)(minute);
}

/** From 8 to 20. */
function isOpen(minute: number): number {
  return Number(minute % DAY >= 8 * HOUR && minute % DAY < 20 * HOUR);
}
