/** What is proven of the alerts about polls. */
import type { AlertCase } from '../alert-case.ts';
import { LAST_SUCCESS } from '../series.ts';
import { HOUR, allGoneFrom, atInstance, goneFrom, now, thereFrom, until } from '../story.ts';
import type { Story } from '../story.ts';

const UP = 'library_up{stream="people"}';
const POLLS = 'library_polls_total{stream="people"}';
const SKIPPED = 'library_polls_skipped_total{stream="people"}';
const VALID = 'library_credentials_valid';
const DOWN: Story = { [UP]: until(20, 1, 0), 'library_up{stream="logins"}': 1 };
const REFUSED: Story = { [VALID]: until(20, 1, 0) };

const STALE: Story = {
  [LAST_SUCCESS]: until(20, now, 20 * 60),
  'library_poll_last_success_timestamp_seconds{stream="logins"}': now,
  [POLLS]: (minute) => minute,
};

const NEVER: Story = { [LAST_SUCCESS]: null, [POLLS]: thereFrom(20, 0) };

/** From the hour on, every other poll is left out. */
const SKIPPING: Story = {
  [POLLS]: until(
    HOUR,
    (minute) => minute,
    (minute) => HOUR + Math.floor((minute - HOUR) / 2),
  ),
  [SKIPPED]: until(HOUR, 0, (minute) => Math.ceil((minute - HOUR) / 2)),
};

export const POLLING_CASES: readonly AlertCase[] = [
  {
    alert: 'LibraryCustomerDown',
    ofCustomer: true,
    minutes: 60,
    story: DOWN,
    firesAt: 30,
    labels: { stream: 'people' },
    description: 'No poll of people for riverside has been good for at least 10 minutes.',
    alsoFires: {
      'a breakdown': {
        change: { [UP]: 1, 'library_up{stream="branch"}': until(20, 1, 0) },
        at: 30,
      },
      'both replicas': { change: atInstance('b', DOWN), at: 30 },
      'from the first poll on': { change: { [UP]: thereFrom(20, 0) }, at: 30 },
    },
    silent: {
      'another replica is well': atInstance('b', { [UP]: 1 }),
      'another job is well': { 'library_up{stream="people",job="library-b"}': 1 },
      'one good poll in between': { [UP]: (minute) => Number(minute < 20 || minute % 9 === 0) },
      'it was taken out of the configuration': { [UP]: goneFrom(25, until(20, 1, 0)) },
      'the exporter is down': allGoneFrom(25, DOWN),
    },
    resolves: {
      'a poll is good': {
        change: { [UP]: (minute) => Number(minute < 20 || minute >= 45) },
        at: 45,
      },
      'its series are gone': { change: { [UP]: goneFrom(45, until(20, 1, 0)) }, at: 45 },
    },
    mutations: [
      ['max by', 'min by'],
      ['== 0', '>= 0'],
      ['for: 10m', 'for: 9m'],
      ['(customer, stream)', '(customer, stream, instance)'],
    ],
  },
  {
    alert: 'LibraryCredentialsRefused',
    ofCustomer: true,
    minutes: 60,
    story: REFUSED,
    firesAt: 25,
    labels: {},
    description:
      'The client id and secret of riverside have been refused for at least 5 minutes. Nothing can be polled with them.',
    alsoFires: {
      'by one replica of two': { change: atInstance('b', { [VALID]: 1 }), at: 25 },
      'by both of them': { change: atInstance('b', REFUSED), at: 25 },
    },
    silent: {
      taken: { [VALID]: 1 },
      'not asked yet': { [VALID]: null },
      'a new secret is there within minutes': {
        [VALID]: (minute) => Number(minute < 20 || minute > 23),
      },
      'the exporter is down': { [VALID]: goneFrom(23, until(20, 1, 0)) },
    },
    resolves: {
      'the new secret is taken': {
        change: { [VALID]: (minute) => Number(minute < 20 || minute >= 40) },
        at: 40,
      },
    },
    mutations: [
      ['min by', 'max by'],
      ['== 0', '>= 0'],
      ['(customer)', '(customer, instance)'],
      ['for: 5m', 'for: 3m'],
    ],
  },
  {
    alert: 'LibraryDataStale',
    ofCustomer: true,
    minutes: 80,
    story: STALE,
    // More than 900 seconds old from minute 36 on.
    firesAt: 41,
    labels: { stream: 'people' },
    description: 'The figures of people for riverside are 21m 0s old.',
    alsoFires: {
      logins: {
        change: {
          [LAST_SUCCESS]: now,
          'library_poll_last_success_timestamp_seconds{stream="logins"}': until(20, now, 20 * 60),
        },
        at: 41,
      },
      'both replicas': { change: atInstance('b', STALE), at: 41 },
      // Known for 15 minutes from minute 35 on.
      'no poll has ever ended': { change: NEVER, at: 40 },
    },
    silent: {
      'a replica is fresh': atInstance('b', { [LAST_SUCCESS]: now }),
      'a fresh replica beside one that never was': {
        ...NEVER,
        ...atInstance('b', { [LAST_SUCCESS]: now, [POLLS]: (minute) => minute }),
      },
      'a poll each fifteen minutes': { [LAST_SUCCESS]: (minute) => 60 * (minute - (minute % 15)) },
      'a breakdown that is read twice a day': {
        [LAST_SUCCESS]: now,
        'library_poll_last_success_timestamp_seconds{stream="branch"}': 0,
      },
      'a new customer that is read within a quarter of an hour': {
        [POLLS]: thereFrom(20, (minute) => minute - 20),
        [LAST_SUCCESS]: thereFrom(36, now),
      },
      'a new customer that is taken away again': {
        [POLLS]: (minute) => (minute >= 20 && minute < 34 ? 0 : undefined),
        [LAST_SUCCESS]: null,
      },
      'the exporter is down': allGoneFrom(38, STALE),
    },
    resolves: {
      'a poll is good': {
        change: { [LAST_SUCCESS]: (minute) => now(minute < 20 || minute >= 50 ? minute : 20) },
        at: 50,
      },
      'the first poll is good': {
        change: { ...NEVER, [LAST_SUCCESS]: thereFrom(50, now) },
        at: 50,
      },
    },
    mutations: [
      ['> 900', '> 700'],
      ['max by (customer, stream) (library_poll', 'min by (customer, stream) (library_poll'],
      ['{stream=~"people|logins"}', ''],
      [' offset 15m', ' offset 5m'],
      ['and\n    library_polls_total', 'or\n    library_polls_total'],
      ['  unless on (customer, stream)', '  unless on (stream)'],
      ['for: 5m', 'for: 4m'],
    ],
  },
  {
    alert: 'LibraryPollsSkipped',
    ofCustomer: true,
    minutes: 5 * HOUR,
    story: SKIPPING,
    // More than a fifth of an hour's polls from minute 85 on.
    firesAt: 100,
    labels: { stream: 'people' },
    description:
      '33.33% of the polls of people for riverside were left out in the last hour, because the one before was still under way.',
    alsoFires: { 'both replicas': { change: atInstance('b', SKIPPING), at: 100 } },
    silent: {
      'one in six is left out': {
        [POLLS]: (minute) => minute - Math.floor(minute / 6),
        [SKIPPED]: (minute) => Math.floor(minute / 6),
      },
      'a few are left out after a start': {
        [SKIPPED]: until(HOUR, 0, (minute) => Math.min(10, minute - HOUR)),
        [POLLS]: (minute) => minute,
      },
      'the exporter starts again, and the counters with it': {
        [SKIPPED]: 0,
        [POLLS]: until(
          90,
          (minute) => minute,
          (minute) => minute - 90,
        ),
      },
      'nothing is polled at all': { [POLLS]: 10, [SKIPPED]: 0 },
    },
    resolves: {
      'none is left out any more': {
        change: {
          [POLLS]: (minute) =>
            Math.min(minute, HOUR) +
            Math.floor(Math.max(0, Math.min(minute, 150) - HOUR) / 2) +
            Math.max(0, minute - 150),
          [SKIPPED]: (minute) => Math.ceil(Math.max(0, Math.min(minute, 150) - HOUR) / 2),
        },
        at: 185,
      },
    },
    mutations: [
      ['> 0.2', '> 0.1'],
      ['> 0.2', '> 0.4'],
      ['(customer, stream)', '(customer, stream, instance)'],
      ['+ increase(library_polls_total[1h])', '+ 0 * increase(library_polls_total[1h])'],
      ['for: 15m', 'for: 13m'],
    ],
  },
];
