/**
 * The families with the label `customer`, as a table, in the order of the exposition. CONTRACT.md,
 * section 4, defines the names. A value changes only with a poll or at `validUntilMs`, never by itself.
 */
import { ALL_COUNTERS, BREAKDOWNS, MINUTE_STREAMS } from '../base/model.ts';
import type { CounterName, MinuteStream, Stream } from '../base/model.ts';
import type { CustomerMetrics, StreamMetrics } from '../counting/customer-metrics.ts';
import { DOOR_FAULTS } from '../counting/estimate.ts';
import { labelled, single } from './family.ts';
import type { Family, FamilyHead, LabelPair } from './family.ts';

const NO_ESTIMATE =
  'like library_occupancy_people, until the history of the day is read, where the building does not ' +
  'empty at night, while entries or all counts are missing, and with estimate: false';
const NO_RATIO = 'before three days with at least 40 counts, and with estimate: false';

const ESTIMATE_FAMILIES: readonly Family[] = [
  single(
    {
      name: 'library_occupancy_estimate_people',
      type: 'gauge',
      help: 'Estimated people inside, corrected for the errors of the doors.',
      absent: NO_ESTIMATE,
    },
    ({ estimate }) => estimate.people?.people,
  ),
  single(
    {
      name: 'library_occupancy_estimate_lower_people',
      type: 'gauge',
      help: 'Lower bound of the 90% interval of the estimate.',
      absent: NO_ESTIMATE,
    },
    ({ estimate }) => estimate.people?.lower,
  ),
  single(
    {
      name: 'library_occupancy_estimate_upper_people',
      type: 'gauge',
      help: 'Upper bound of the 90% interval of the estimate.',
      absent: NO_ESTIMATE,
    },
    ({ estimate }) => estimate.people?.upper,
  ),
  single(
    {
      name: 'library_door_count_ratio',
      type: 'gauge',
      help: 'Entries counted per exit counted, learned from the last 28 days.',
      absent: NO_RATIO,
    },
    ({ estimate }) => estimate.ratio?.value,
  ),
  single(
    {
      name: 'library_door_count_ratio_stddev',
      type: 'gauge',
      help: 'Standard deviation of the learned ratio.',
      absent: NO_RATIO,
    },
    ({ estimate }) => estimate.ratio?.stddev,
  ),
  labelled(
    {
      name: 'library_door_suspect',
      type: 'gauge',
      help: '1 while this fault of the doors is suspected.',
      absent:
        'like library_occupancy_people, until the history of the day is read, where the building ' +
        'does not empty at night, and with estimate: false',
    },
    'kind',
    DOOR_FAULTS,
    ({ estimate: { fault } }, kind) => flag(fault && fault === kind),
  ),
  single(
    {
      name: 'library_occupancy_estimable',
      type: 'gauge',
      help: '1 if the building empties at night, so that an estimate is possible.',
      absent: 'until the history is read, and with estimate: false',
    },
    ({ estimate }) => flag(estimate.isEstimable),
  ),
];

const ALL_STREAMS: readonly Stream[] = [...MINUTE_STREAMS, ...BREAKDOWNS];

/** Follow from the service's rows and the configuration, so that `backfill` can write them, too. */
export const BACKFILL_FAMILIES: readonly Family[] = [
  {
    name: 'library_customer_info',
    type: 'gauge',
    help: 'Time zone and configured labels; always 1.',
    labels: ['timezone'],
    samples: (metrics, { infoLabelNames }) => [
      {
        labels: [
          ['timezone', metrics.timezone],
          ...infoLabelNames.map((name): LabelPair => [name, labelOf(metrics, name)]),
        ],
        value: 1,
      },
    ],
  },
  single(
    {
      name: 'library_utc_offset_seconds',
      type: 'gauge',
      help: 'Current UTC offset of the time zone.',
    },
    (metrics) => metrics.utcOffsetSeconds,
  ),
  single(
    {
      name: 'library_counter_start_timestamp_seconds',
      type: 'gauge',
      help: 'Start of the counting period, when the counters were last 0.',
    },
    (metrics) => seconds(metrics.periodStartMs),
  ),
  single(
    {
      name: 'library_open',
      type: 'gauge',
      help: '1 inside the opening hours, 0 outside.',
      absent: 'if no opening hours are configured',
    },
    (metrics) => flag(metrics.open),
  ),
  single(
    {
      name: 'library_capacity_people',
      type: 'gauge',
      help: 'Configured capacity.',
      absent: 'if no capacity is configured',
    },
    (metrics) => metrics.capacity,
  ),
  single(
    {
      name: 'library_occupancy_people',
      type: 'gauge',
      help: 'People inside now.',
      absent:
        'until the first complete reading of the day, while the newest successful poll is older than ' +
        'both 15 minutes and three intervals, and while the format of the minute keys is unknown',
    },
    (metrics) => metrics.occupancy,
  ),
  ...ESTIMATE_FAMILIES,
  counter('people_entered', 'People counted in since the counting period started.'),
  counter('people_exited', 'People counted out since the counting period started.'),
  counter('logins', 'Patron logins since the counting period started.'),
  today('people_entered', 'People counted in since the day started.'),
  today('people_exited', 'People counted out since the day started.'),
  today('logins', 'Patron logins since the day started.'),
  lastSeen('people', 'Start of the newest minute that counted anybody.'),
  lastSeen('logins', 'Start of the newest minute with a login.'),
];

/** Only a running exporter knows these. */
const POLLING_FAMILIES: readonly Family[] = [
  labelled(
    {
      name: 'library_counter_excess',
      type: 'gauge',
      help: "Exported counter minus the service's total now.",
      absent: 'until the first complete reading of the counting period',
    },
    'counter',
    ALL_COUNTERS,
    ({ counters }, name) => counters[name]?.excess,
  ),
  ofStreams(
    {
      name: 'library_up',
      type: 'gauge',
      help: '1 if the last poll succeeded.',
      absent: 'until the first poll ended',
    },
    (stream) => flag(stream.up),
  ),
  ofStreams(
    {
      name: 'library_poll_last_success_timestamp_seconds',
      type: 'gauge',
      help: 'When the last successful poll ended.',
      absent: 'until the first successful poll',
    },
    (stream) => seconds(stream.lastSuccessMs),
  ),
  ofStreams(
    { name: 'library_polls_total', type: 'counter', help: 'Polls, failed ones included.' },
    (stream) => stream.polls,
  ),
  ofStreams(
    { name: 'library_poll_failures_total', type: 'counter', help: 'Failed polls.' },
    (stream) => stream.failures,
  ),
  ofStreams(
    {
      name: 'library_polls_skipped_total',
      type: 'counter',
      help: 'Polls skipped because the previous one was still running.',
    },
    (stream) => stream.skipped,
  ),
  single(
    {
      name: 'library_credentials_valid',
      type: 'gauge',
      help: '1 if the service accepted the credentials, 0 if it refused them.',
      absent: 'until the service accepted or refused them',
    },
    (metrics) => flag(metrics.credentialsValid),
  ),
];

export const CUSTOMER_FAMILIES: readonly Family[] = [...BACKFILL_FAMILIES, ...POLLING_FAMILIES];

function counter(name: CounterName, help: string): Family {
  return single(
    {
      name: `library_${name}_total`,
      type: 'counter',
      help,
      absent: 'until the first complete reading of the counting period',
      startsWithPeriod: true,
    },
    ({ counters }) => counters[name]?.total,
  );
}

function today(name: CounterName, help: string): Family {
  return single(
    {
      name: `library_${name}_today`,
      type: 'gauge',
      help,
      absent: 'until the first complete reading of the day',
    },
    ({ counters }) => counters[name]?.today,
  );
}

function lastSeen(stream: MinuteStream, help: string): Family {
  return single(
    {
      name: `library_${stream}_last_seen_timestamp_seconds`,
      type: 'gauge',
      help,
      absent:
        'if there was none today or the day before, and while the format of the minute keys is unknown',
    },
    ({ streams }) => seconds(streams[stream]?.lastSeenMs),
  );
}

function ofStreams(
  head: FamilyHead,
  valueOf: (stream: StreamMetrics) => number | undefined,
): Family {
  return labelled(head, 'stream', ALL_STREAMS, ({ streams }, name) => {
    const stream = streams[name];
    return stream === undefined ? undefined : valueOf(stream);
  });
}

function flag(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function seconds(instantMs: number | undefined): number | undefined {
  return instantMs === undefined ? undefined : instantMs / 1_000;
}

function labelOf({ labels }: CustomerMetrics, name: string): string {
  return Object.hasOwn(labels, name) ? (labels[name] ?? '') : '';
}
