/** What is proven of the alerts about exporters. */
import type { AlertCase } from '../alert-case.ts';
import { atInstance, goneFrom, until } from '../story.ts';
import type { Story } from '../story.ts';

const INFO_OF_FOUR = Object.fromEntries(
  [0, 1, 2, 3].map((shard) => [
    `library_exporter_shard_info{shard="${shard}",shards="4",instance="${shard}"}`,
    1,
  ]),
);
const LAST_SHARD = 'library_exporter_shard_info{shard="3",shards="4",instance="3"}';

export const EXPORTER_CASES: readonly AlertCase[] = [
  {
    alert: 'LibraryExporterAbsent',
    ofCustomer: false,
    minutes: 60,
    story: { up: until(20, 1, 0) },
    firesAt: 30,
    labels: {},
    description:
      'Prometheus has no target of a job library* that can be scraped, and has had none for at least 10 minutes. Nothing about any library is being recorded.',
    alsoFires: {
      'the targets are gone': { change: { up: goneFrom(20, 1) }, at: 30 },
      'only other jobs are there': { change: { up: null, 'up{job="node"}': 1 }, at: 10 },
    },
    silent: {
      'one replica of two is left': atInstance('b', { up: 1 }),
      'another job of the library is left': { 'up{job="library-south"}': 1 },
      'the job has a name as of a PodMonitor': { 'up{job="monitoring/library-stats-exporter"}': 1 },
      'it is down for ten minutes, restarted and down again': {
        up: (minute) => Number(minute < 20 || minute === 29 || minute > 38),
      },
    },
    resolves: {
      'it answers again': {
        change: { up: (minute) => Number(minute < 20 || minute >= 45) },
        at: 45,
      },
    },
    mutations: [
      ['== 1', '>= 0'],
      ['(.+/)?library.*', 'library'],
      ['library.*', '.*'],
      ['for: 10m', 'for: 9m'],
    ],
  },
  {
    alert: 'LibraryExporterDown',
    ofCustomer: false,
    minutes: 60,
    story: { up: until(20, 1, 0), ...atInstance('b:10096', { up: 1 }) },
    firesAt: 30,
    labels: { job: 'library', instance: 'a:10096' },
    description:
      'a:10096 of job library has not been scraped for at least 10 minutes. Customers that only it polls are not being recorded.',
    alsoFires: {
      'in a job of its own': {
        change: { up: 1, 'up{job="library-south"}': until(20, 1, 0) },
        at: 30,
      },
    },
    silent: {
      'it is restarted': { up: (minute) => Number(minute < 20 || minute > 28) },
      'another job is down': { up: 1, 'up{job="node"}': 0 },
      'the target was taken away': { up: goneFrom(20, 1) },
    },
    resolves: {
      'it answers again': {
        change: { up: (minute) => Number(minute < 20 || minute >= 45) },
        at: 45,
      },
    },
    mutations: [
      ['library.*', '.*'],
      ['(.+/)?library.*', 'library'],
      ['== 0', '< 2'],
      ['for: 10m', 'for: 8m'],
    ],
  },
  {
    alert: 'LibraryShardsMissing',
    ofCustomer: false,
    minutes: 60,
    story: { ...INFO_OF_FOUR, [LAST_SHARD]: goneFrom(20, 1) },
    firesAt: 35,
    labels: { shards: '4' },
    description:
      'Only 3 of 4 shards are being scraped. The customers of the others are not being recorded.',
    alsoFires: {
      'a whole installation of another number of shards beside it': {
        change: { 'library_exporter_shard_info{shard="0",shards="1",instance="whole"}': 1 },
        at: 35,
      },
      'another shard twice does not make up for it': {
        change: { 'library_exporter_shard_info{shard="0",shards="4",instance="0b"}': 1 },
        at: 35,
      },
      'as many shards of five as there should be of four': {
        change: Object.fromEntries(
          [0, 1, 2, 3, 4].map((shard) => [
            `library_exporter_shard_info{shard="${shard}",shards="5",instance="five-${shard}"}`,
            shard === 4 ? null : 1,
          ]),
        ),
        matching: 'shards="4"',
        at: 35,
      },
    },
    silent: {
      'all four are there': { [LAST_SHARD]: 1 },
      'each shard has a replica, and one of them is gone': {
        'library_exporter_shard_info{shard="3",shards="4",instance="3b"}': 1,
      },
      'each shard is a job of its own': {
        [LAST_SHARD]: null,
        'library_exporter_shard_info{shard="3",shards="4",job="library-3"}': 1,
      },
      'the last one is restarted': {
        [LAST_SHARD]: (minute) => (minute < 20 || minute > 33 ? 1 : undefined),
      },
      'two of one each': {
        ...nothing(INFO_OF_FOUR),
        'library_exporter_shard_info{shard="0",shards="1",instance="x"}': 1,
        'library_exporter_shard_info{shard="0",shards="1",instance="y"}': 1,
      },
      'none is there': nothing(INFO_OF_FOUR),
    },
    resolves: {
      'it is back': {
        change: { [LAST_SHARD]: (minute) => (minute < 20 || minute >= 45 ? 1 : undefined) },
        at: 45,
      },
      'the others are told that they are three': {
        change: {
          ...Object.fromEntries(
            Object.keys(INFO_OF_FOUR).map((series) => [
              series,
              goneFrom(series === LAST_SHARD ? 20 : 45, 1),
            ]),
          ),
          ...Object.fromEntries(
            [0, 1, 2].map((shard) => [
              `library_exporter_shard_info{shard="${shard}",shards="3",instance="${shard}"}`,
              (minute: number) => (minute < 45 ? undefined : 1),
            ]),
          ),
        },
        at: 45,
      },
    },
    mutations: [
      ['unless on (said, shards)', 'unless on (shards)'],
      ['for: 15m', 'for: 13m'],
    ],
  },
  {
    alert: 'LibraryConfigReloadFailed',
    ofCustomer: false,
    minutes: 60,
    story: { library_exporter_config_last_reload_successful: until(20, 1, 0) },
    firesAt: 25,
    labels: { job: 'library', instance: 'a:10096' },
    description:
      'The configuration that a:10096 was given last has problems. It goes on with the one before, and will not start with the new one.',
    alsoFires: {
      'one replica of two took it': {
        change: atInstance('b', { library_exporter_config_last_reload_successful: 1 }),
        at: 25,
      },
    },
    silent: {
      'it was taken': { library_exporter_config_last_reload_successful: 1 },
      'the mistake was mended at once': {
        library_exporter_config_last_reload_successful: (minute) =>
          Number(minute < 20 || minute > 23),
      },
      'the exporter is down': {
        library_exporter_config_last_reload_successful: goneFrom(22, until(20, 1, 0)),
      },
    },
    resolves: {
      'a good one is read': {
        change: {
          library_exporter_config_last_reload_successful: (minute) =>
            Number(minute < 20 || minute >= 40),
        },
        at: 40,
      },
    },
    mutations: [
      ['== 0', '>= 0'],
      [
        'library_exporter_config_last_reload_successful == 0',
        'max(library_exporter_config_last_reload_successful) == 0',
      ],
      ['for: 5m', 'for: 3m'],
    ],
  },
];

function nothing(story: Story): Story {
  return Object.fromEntries(Object.keys(story).map((series) => [series, null]));
}
