/** What is proven of the alert that says that nobody is counted, where it is known what is usual. */
import type { AlertCase } from '../alert-case.ts';
import { HELD, LAST_SEEN, LAST_SUCCESS, OCCUPANCY, OPEN, TODAY, USUAL } from '../series.ts';
import { HOUR, allGoneFrom, atInstance, now, until } from '../story.ts';
import type { Story } from '../story.ts';
import { seenUntil } from './passes.ts';

const LOGINS_TODAY = 'library_logins_today';
const USUAL_TODAY = 'customer:library_people_entered_today:usual';
const USUAL_LOGINS = 'customer:library_logins_today:usual';

/** Without opening hours, at noon; nobody passes after minute 60. */
const DEAD: Story = {
  [LAST_SEEN]: seenUntil(HOUR),
  [LAST_SUCCESS]: now,
  [OCCUPANCY]: 5,
  [TODAY]: until(HOUR, (minute) => 100 + minute, 160),
  [LOGINS_TODAY]: (minute) => 20 + minute,
  [HELD]: 0,
  [USUAL]: 30,
  [USUAL_TODAY]: 150,
  [USUAL_LOGINS]: 40,
};

const VILLAGE: Story = { [USUAL]: 2, [USUAL_TODAY]: 6, [TODAY]: 0 };
const NO_LOGINS: Story = { [LOGINS_TODAY]: 0 };

export const ZERO_TRAFFIC_CASES: readonly AlertCase[] = [
  {
    alert: 'LibraryZeroTraffic',
    side: 'where it is known what is usual',
    ofCustomer: true,
    minutes: 5 * HOUR,
    story: DEAD,
    // Longer than an hour from minute 121 on.
    firesAt: 126,
    labels: {},
    description:
      'riverside has counted nobody for at least 1h 6m 0s, while its figures are fresh and the library is not known to be closed.',
    alsoFires: {
      'within the opening hours': { change: { [OPEN]: 1 }, at: 126 },
      'an hour after opening': { change: { [OPEN]: until(100, 0, 1) }, at: 165 },
      'an hour after people usually begin to come': {
        change: { [USUAL]: until(100, 0, 30) },
        at: 165,
      },
      'nobody today in a small library': { change: VILLAGE, at: 126 },
      'nobody logs in either, but it is known to be open': {
        change: { ...NO_LOGINS, [OPEN]: 1 },
        at: 126,
      },
      'nobody logs in either, as usual': { change: { ...NO_LOGINS, [USUAL_LOGINS]: 0 }, at: 126 },
      'both replicas see nobody': { change: atInstance('b', DEAD), at: 126 },
      'only logins are held': {
        change: { 'library_counter_excess{counter="logins"}': 3 },
        at: 126,
      },
      'one replica of two holds a counter': {
        change: { [HELD]: 3, ...atInstance('b', { [HELD]: 0 }) },
        at: 126,
      },
      'the figures were old, and are fresh again': {
        change: { [LAST_SUCCESS]: (minute) => now(minute < 105 || minute >= 150 ? minute : 105) },
        at: 155,
      },
    },
    silent: {
      'outside the opening hours, over night': {
        [OPEN]: until(70, 1, 0),
        [USUAL]: until(120, 30, 0),
      },
      'on a holiday, by the opening hours': { [OPEN]: 0 },
      'it has just opened': { [OPEN]: until(250, 0, 1) },
      'over night, without opening hours': { [USUAL]: until(115, 30, 0) },
      'people have just begun to come, usually': { [USUAL]: until(250, 0, 30) },
      'on a holiday, without opening hours: nobody logs in either': NO_LOGINS,
      'few usually come': { [USUAL]: 4 },
      'somebody passes every hour': { [LAST_SEEN]: (minute) => 60 * (minute - (minute % 55)) },
      'the figures are old': { [LAST_SUCCESS]: until(109, now, 109 * 60) },
      'the exporter is down': allGoneFrom(123, DEAD),
      'the exporter was down, and people came meanwhile': Object.fromEntries(
        Object.entries({
          ...DEAD,
          [LAST_SEEN]: until(100, seenUntil(HOUR), (minute: number) => now(minute - 2)),
        }).map(([series, value]) => [
          series,
          (minute: number) =>
            minute >= 80 && minute < 130 && !series.startsWith('customer:')
              ? undefined
              : typeof value === 'function'
                ? value(minute)
                : (value ?? undefined),
        ]),
      ),
      'the counter is held': { [HELD]: 3 },
      'the counter of those who leave is held': {
        'library_counter_excess{counter="people_exited"}': 3,
      },
      'another replica sees people': atInstance('b', { [LAST_SEEN]: now }),
      'the month begins, and people come': {
        [LAST_SEEN]: (minute) => now(minute - 3),
        [TODAY]: until(
          100,
          (minute) => minute,
          (minute) => minute - 100,
        ),
        [USUAL_TODAY]: until(100, 150, 3),
      },
      'the day begins, at night': {
        [TODAY]: until(100, 160, 0),
        [USUAL]: 0,
        [USUAL_TODAY]: until(100, 150, 1),
        [LOGINS_TODAY]: until(100, 30, 0),
      },
      'somebody came today in a small library': { ...VILLAGE, [TODAY]: 1 },
      'a small library where few come in a day': { ...VILLAGE, [USUAL_TODAY]: 4 },
      'a small library where people usually have just come': {
        ...VILLAGE,
        [USUAL_TODAY]: until(250, 4, 6),
      },
      'nothing about its minutes is known': { [LAST_SEEN]: null, [OCCUPANCY]: null },
    },
    resolves: {
      'somebody passes': {
        change: { [LAST_SEEN]: (minute) => (minute < 200 ? 3600 : now(minute)) },
        at: 200,
      },
      'it closes': { change: { [OPEN]: until(200, 1, 0) }, at: 200 },
      'the figures get old': { change: { [LAST_SUCCESS]: until(185, now, 185 * 60) }, at: 200 },
    },
    mutations: [
      ['> 3600', '> 3000'],
      ['people_entered:usual1h[1h]) >= 5', 'people_entered:usual1h[1h]) >= 3'],
      [
        'min_over_time(customer:library_people_entered:usual1h',
        'max_over_time(customer:library_people_entered:usual1h',
      ],
      ['entered_today:usual[1h]) >= 5', 'entered_today:usual[1h]) >= 3'],
      [
        'min_over_time(customer:library_people_entered_today',
        'max_over_time(customer:library_people_entered_today',
      ],
      ['(library_people_entered_today) == 0', '(library_people_entered_today) >= 0'],
      ['logins_today:usual >= 1', 'logins_today:usual >= 1000'],
      ['logins_today:usual >= 1', 'logins_today:usual >= 0'],
      ['(library_logins_today) == 0', '(library_logins_today) >= 0'],
      ['< 172800', '< 0'],
      [
        'unless on (customer)\n      max by (customer) (library_open)\n',
        'and on (customer)\n      customer:library_people_silence:seconds\n',
      ],
      ['poll_age:seconds < 900', 'poll_age:seconds < 90000'],
      ['(min_over_time(library_open[1h]))', '(library_open)'],
      ['(library_open[1h])) == 0', '(library_open[1h])) < 0'],
      ['{counter=~"people_.+"})) > 0', '{counter=~"people_.+"})) > 100'],
      ['{counter=~"people_.+"}', ''],
      ['{counter=~"people_.+"}', '{counter="people_entered"}'],
      ['min by (customer) (max without', 'max by (customer) (max without'],
      ['for: 5m', 'for: 4m'],
    ],
  },
];
