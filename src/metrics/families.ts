/**
 * The families that carry the label `customer`, as a table of data, in the order in which they are
 * exposed. What a name means to the outside is CONTRACT.md, section 4. Nothing here knows how a line
 * is written, and no value here changes by itself from scrape to scrape.
 */
import { ALL_COUNTERS, BREAKDOWNS, MINUTE_STREAMS } from '../base/model.ts';
import type { CounterName, MinuteStream, Stream } from '../base/model.ts';
import type { CustomerMetrics, StreamMetrics } from '../counting/customer-metrics.ts';
import { fixed, gauge, IN_BACKGROUND } from './family.ts';
import type { Family, Head, LabelPair, Series } from './family.ts';

const ALL_STREAMS: readonly Stream[] = [...MINUTE_STREAMS, ...BREAKDOWNS];

/** What follows from the service's rows and the configuration: it can be told of the past as well. */
export const LASTING_FAMILIES: readonly Family[] = [
  {
    name: 'library_customer_info',
    type: 'gauge',
    help: 'Time zone and labels of the customer, as configured. Always 1.',
    labels: ['timezone'],
    isConfigured: true,
    samples: (figures, { infoLabelNames }) => [
      {
        labels: [
          ['timezone', figures.timezone],
          ...infoLabelNames.map((name): LabelPair => [name, ownLabel(figures, name)]),
        ],
        value: 1,
      },
    ],
  },
  gauge(
    {
      name: 'library_utc_offset_seconds',
      help: "How far the customer's local time is ahead of UTC now.",
    },
    (figures) => figures.utcOffsetSeconds,
  ),
  gauge(
    {
      name: 'library_counter_start_timestamp_seconds',
      help:
        "Where the customer's counters start: the first start of a day, local time, of the running month. " +
        'They start again at 0 there.',
    },
    (figures) => seconds(figures.periodStartMs),
  ),
  gauge(
    {
      name: 'library_open',
      help: '1 inside the configured opening hours, 0 outside. Absent where none are configured.',
      absent: 'where no opening hours are configured',
    },
    (figures) => flag(figures.open),
  ),
  gauge(
    {
      name: 'library_capacity_people',
      help: 'How many people may be inside, as configured. Absent where it is not.',
      absent: 'where no capacity is configured',
    },
    (figures) => figures.capacity,
  ),
  gauge(
    {
      name: 'library_occupancy_people',
      help:
        'People inside now: counted in minus counted out since the day started, never below 0 at any minute. ' +
        `Absent when the newest good poll is too old to tell. ${IN_BACKGROUND}`,
      absent:
        'until the first complete reading of the day, while the newest good poll is older than 15 minutes, ' +
        "and where today's minutes or the form of their keys are not known",
    },
    (figures) => figures.occupancy,
  ),
  counter(
    'people_entered',
    "People counted in since the epoch: the service's own total of in, kept from falling.",
  ),
  counter(
    'people_exited',
    "People counted out since the epoch: the service's own total of out, kept from falling.",
  ),
  counter(
    'logins',
    "Patron logins since the epoch: the service's own total of value, kept from falling.",
  ),
  today('people_entered', 'People counted in since the day started, corrections included.'),
  today('people_exited', 'People counted out since the day started, corrections included.'),
  today('logins', 'Patron logins since the day started, corrections included.'),
  lastSeen('people', 'Start of the newest minute in which anybody was counted in or out'),
  lastSeen('logins', 'Start of the newest minute in which anybody logged in'),
];

/** What only a running exporter knows: how its polls go, and what they have come to. */
const POLLING_FAMILIES: readonly Family[] = [
  fixed(
    {
      name: 'library_counter_excess',
      type: 'gauge',
      help:
        "By how much the exported counter is above the service's total now. " +
        'Above 0 only after the service took counts back; it ends with the epoch.',
      absent: 'until the first complete reading in the epoch',
    },
    ALL_COUNTERS.map((kind) => ({
      labels: [['counter', kind]],
      value: ({ counters }) => counters[kind]?.excess,
    })),
  ),
  ofStreams(
    {
      name: 'library_up',
      type: 'gauge',
      help: 'Whether the last poll of the stream was good: 1 if so, 0 if not. Absent before the first one ended.',
      absent: 'until the first poll has ended',
    },
    (stream) => flag(stream.up),
  ),
  ofStreams(
    {
      name: 'library_poll_last_success_timestamp_seconds',
      type: 'gauge',
      help: 'When the last good poll of the stream ended: how fresh its figures are.',
      absent: 'until the first good poll',
    },
    (stream) => seconds(stream.lastSuccessMs),
  ),
  ofStreams(
    {
      name: 'library_polls_total',
      type: 'counter',
      help: 'Polls of the stream that ended, good or not.',
    },
    (stream) => stream.polls,
  ),
  ofStreams(
    {
      name: 'library_poll_failures_total',
      type: 'counter',
      help: 'Polls of the stream that ended without a whole good answer.',
    },
    (stream) => stream.failures,
  ),
  ofStreams(
    {
      name: 'library_polls_skipped_total',
      type: 'counter',
      help: 'Polls of the stream that were left out because the one before was still under way.',
    },
    (stream) => stream.skipped,
  ),
  gauge(
    {
      name: 'library_credentials_valid',
      help:
        'What the service said of the credentials last: 1 taken, 0 refused. ' +
        'Absent before it said anything.',
      absent: 'until the service has taken or refused them',
    },
    (figures) => flag(figures.credentialsValid),
  ),
];

export const CUSTOMER_FAMILIES: readonly Family[] = [...LASTING_FAMILIES, ...POLLING_FAMILIES];

function counter(kind: CounterName, help: string): Family {
  return fixed(
    {
      name: `library_${kind}_total`,
      type: 'counter',
      help: `${help} ${IN_BACKGROUND}`,
      absent: 'until the first complete reading in the epoch',
    },
    [{ labels: [], value: ({ counters }) => counters[kind]?.total }],
  );
}

function today(kind: CounterName, help: string): Family {
  return gauge(
    {
      name: `library_${kind}_today`,
      help: `${help} ${IN_BACKGROUND}`,
      absent: 'until the first complete reading of the day',
    },
    ({ counters }) => counters[kind]?.today,
  );
}

function lastSeen(stream: MinuteStream, help: string): Family {
  return gauge(
    {
      name: `library_${stream}_last_seen_timestamp_seconds`,
      help: `${help}, today or the day before. Absent if there was none. ${IN_BACKGROUND}`,
      absent: "if nobody was, and where the form of the minutes' keys is not known",
    },
    ({ streams }) => seconds(streams[stream]?.lastSeenMs),
  );
}

function ofStreams(head: Head, value: (stream: StreamMetrics) => number | undefined): Family {
  const series = ALL_STREAMS.map((stream): Series => {
    return {
      labels: [['stream', stream]],
      value({ streams }) {
        const figures = streams[stream];
        return figures === undefined ? undefined : value(figures);
      },
    };
  });
  return fixed(head, series);
}

function flag(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function seconds(instantMs: number | undefined): number | undefined {
  return instantMs === undefined ? undefined : instantMs / 1_000;
}

function ownLabel(figures: CustomerMetrics, name: string): string {
  return Object.hasOwn(figures.labels, name) ? (figures.labels[name] ?? '') : '';
}
