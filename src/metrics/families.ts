/**
 * The families with the label `customer`, as a table, in the order of the exposition, from which
 * docs/reference/metrics.md is made. A value changes only with a poll or at `validUntilMs`, never by
 * itself.
 */
import { ALL_COUNTERS, BREAKDOWNS, MINUTE_STREAMS } from '../base/model.ts';
import type { CounterName, Stream } from '../base/model.ts';
import type { CustomerMetrics, SiteMetrics, StreamMetrics } from '../counting/customer-metrics.ts';
import { DOOR_FAULTS } from '../counting/occupancy/estimate.ts';
import { labelled, labelledSites, ofSites, single } from './family.ts';
import type { Family } from './family.ts';
import { writeLabels } from './format.ts';

const NO_ESTIMATE =
  'like library_occupancy_people, until the history of the day is read, where the building does not ' +
  'empty at night, while entries or all counts are missing, and with estimate: false';
const NO_RATIO = 'before three days with at least 40 counts, and with estimate: false';

const ESTIMATE_FAMILIES: readonly Family[] = [
  site(
    'library_occupancy_estimate_people',
    'Estimated people inside, corrected for the errors of the doors.',
    ({ estimate }) => estimate.people?.people,
    NO_ESTIMATE,
  ),
  site(
    'library_occupancy_estimate_lower_people',
    'Lower bound of the 90% interval of the estimate.',
    ({ estimate }) => estimate.people?.lower,
    NO_ESTIMATE,
  ),
  site(
    'library_occupancy_estimate_upper_people',
    'Upper bound of the 90% interval of the estimate.',
    ({ estimate }) => estimate.people?.upper,
    NO_ESTIMATE,
  ),
  site(
    'library_door_count_ratio',
    'Entries counted per exit counted, learned from the last 28 days.',
    ({ estimate }) => estimate.ratio?.value,
    NO_RATIO,
  ),
  site(
    'library_door_count_ratio_stddev',
    'Standard deviation of the learned ratio.',
    ({ estimate }) => estimate.ratio?.stddev,
    NO_RATIO,
  ),
  labelledSites(
    'library_door_suspect',
    '1 while this fault of the doors is suspected.',
    'kind',
    [...DOOR_FAULTS, 'unbalanced'],
    ({ estimate: { fault, isUnbalanced } }, kind) =>
      kind === 'unbalanced' ? flag(isUnbalanced) : flag(fault && fault === kind),
    'like library_occupancy_people, until the history of the day is read, where the building ' +
      'does not empty at night, and with estimate: false; unbalanced only until the history is ' +
      'read, and with estimate: false',
  ),
  site(
    'library_occupancy_estimable',
    '1 if the building empties at night, so that an estimate is possible.',
    ({ estimate }) => flag(estimate.isEstimable),
    'until the history is read, and with estimate: false',
  ),
];

const NO_USUAL =
  'until the history is read, while the newest accepted poll is older than 15 minutes, and while the ' +
  'format of the minute keys is unknown';

const USUAL_FAMILIES: readonly Family[] = [
  site(
    'library_people_expected_since_last_seen',
    'Entries and exits usual between the last one and an hour before the last accepted poll.',
    ({ usual }) => usual?.people,
    NO_USUAL,
  ),
  labelledSites(
    'library_people_direction_expected_since_last_seen',
    'Counts usual since the last one of a direction, at most those of the other one since.',
    'direction',
    ['in', 'out'],
    ({ usual }, direction) => (direction === 'in' ? usual?.entries : usual?.exits),
    NO_USUAL,
  ),
  single(
    'library_logins_expected_since_last_seen',
    'Logins usual since the last one, at most the usual share of the entries since.',
    ({ usualLogins }) => usualLogins,
    `${NO_USUAL}, of both streams`,
  ),
  site(
    'library_people_entered_usual_hour',
    'Entries usual within the last hour.',
    ({ usual }) => usual?.entriesLastHour,
    NO_USUAL,
  ),
  site(
    'library_people_entered_usual_today',
    'Entries usual since the day started.',
    ({ usual }) => usual?.entriesToday,
    `${NO_USUAL}, and until the first accepted poll of the day`,
  ),
  site(
    'library_occupancy_usual_people',
    'People usually inside now.',
    ({ usual }) => usual?.inside,
    NO_USUAL,
  ),
  site(
    'library_open_seconds_since_last_seen',
    'Opening time since the newest minute that counted anybody.',
    ({ usual }) => seconds(usual?.openSinceLastSeenMs),
    `${NO_USUAL}, if no opening hours are configured, and if nobody was counted within 28 days`,
  ),
];

const NOT_POLLED_TODAY = 'until the first accepted poll of the day';
const NOT_SEEN =
  'if there was none within 28 days, and while the format of the minute keys is unknown';

const ALL_STREAMS: readonly Stream[] = [...MINUTE_STREAMS, ...BREAKDOWNS];

/**
 * Families that follow from the service's rows and the configuration, so that `backfill` can write them,
 * too.
 */
export const BACKFILL_FAMILIES: readonly Family[] = [
  {
    name: 'library_customer_info',
    type: 'gauge',
    help: 'Time zone and configured labels; always 1.',
    labels: ['timezone'],
    samples: (metrics, { infoLabelNames }) => [
      {
        labels: writeLabels(
          ['timezone', metrics.timezone],
          ...infoLabelNames.map((name) => [name, labelOf(metrics, name)] as const),
        ),
        value: 1,
      },
    ],
  },
  single(
    'library_utc_offset_seconds',
    'Current UTC offset of the time zone.',
    (metrics) => metrics.utcOffsetSeconds,
  ),
  single(
    'library_period_start_timestamp_seconds',
    'Start of the counting period, when the counters were last 0.',
    (metrics) => seconds(metrics.periodStartMs),
  ),
  site(
    'library_open',
    '1 inside the opening hours, 0 outside.',
    (metrics) => flag(metrics.open),
    'if no opening hours are configured',
  ),
  site(
    'library_staffed',
    '1 inside the staffed hours, 0 outside.',
    (metrics) => flag(metrics.staffed),
    'if no staffed hours are configured',
  ),
  site(
    'library_capacity_people',
    'Configured capacity.',
    (metrics) => metrics.capacity,
    'if no capacity is configured',
  ),
  site(
    'library_occupancy_people',
    'People inside now.',
    (metrics) => metrics.occupancy,
    'until the first accepted poll of the day, while the newest one is older than 15 minutes, and ' +
      'while the format of the minute keys is unknown',
  ),
  ...ESTIMATE_FAMILIES,
  counter('people_entered', 'People counted in since the counting period started.'),
  counter('people_exited', 'People counted out since the counting period started.'),
  counter('logins', 'Patron logins since the counting period started.'),
  peopleToday('people_entered', 'People counted in since the day started.'),
  peopleToday('people_exited', 'People counted out since the day started.'),
  single(
    'library_logins_today',
    'Patron logins since the day started.',
    ({ counters }) => counters.logins?.today,
    NOT_POLLED_TODAY,
  ),
  ofSites(
    'library_people_last_seen_timestamp_seconds',
    'Start of the newest minute that counted anybody.',
    ({ streams }) => seconds(streams.people?.lastSeenMs),
    ({ lastSeenMs }) => seconds(lastSeenMs),
    NOT_SEEN,
  ),
  single(
    'library_logins_last_seen_timestamp_seconds',
    'Start of the newest minute with a login.',
    ({ streams }) => seconds(streams.logins?.lastSeenMs),
    NOT_SEEN,
  ),
  ...USUAL_FAMILIES,
];

/** Families that only a running exporter knows. */
const POLLING_FAMILIES: readonly Family[] = [
  labelled(
    'library_count_excess',
    "Exported counter minus the service's total now.",
    'counter',
    ALL_COUNTERS,
    ({ counters }, name) => counters[name]?.excess,
    'until the first accepted poll of the counting period',
  ),
  ofStreams(
    'library_up',
    '1 if the last poll succeeded.',
    ({ up }) => flag(up),
    'until the first poll ended',
  ),
  ofStreams(
    'library_poll_last_success_timestamp_seconds',
    'When the last successful poll ended.',
    ({ lastSuccessMs }) => seconds(lastSuccessMs),
    'until the first successful poll',
  ),
  ofStreams(
    'library_values_accepted_timestamp_seconds',
    'When values were last accepted.',
    ({ acceptedMs }) => seconds(acceptedMs),
    'until the first accepted poll',
  ),
  ofStreams('library_polls_total', 'Polls, failed ones included.', ({ polls }) => polls),
  ofStreams('library_poll_failures_total', 'Failed polls.', ({ failures }) => failures),
  ofStreams(
    'library_polls_skipped_total',
    'Polls skipped because the previous one was still running.',
    ({ skipped }) => skipped,
  ),
  single(
    'library_credentials_valid',
    '1 if the service accepted the credentials, 0 if it refused them.',
    (metrics) => flag(metrics.credentialsValid),
    'until the service accepted or refused them',
  ),
];

export const CUSTOMER_FAMILIES: readonly Family[] = [...BACKFILL_FAMILIES, ...POLLING_FAMILIES];

function counter(name: CounterName, help: string): Family {
  const absent = 'until the first accepted poll of the counting period';
  const total = single(
    `library_${name}_total`,
    help,
    ({ counters }) => counters[name]?.total,
    absent,
  );
  return { ...total, startsWithPeriod: true };
}

/** The values of a branch are those of its breakdown. */
function peopleToday(name: CounterName, help: string): Family {
  return ofSites(
    `library_${name}_today`,
    help,
    ({ counters }) => counters[name]?.today,
    ({ counters }) => counters[name]?.today,
    NOT_POLLED_TODAY,
  );
}

/** A value that a customer with one building has like a branch. */
function site(
  name: string,
  help: string,
  value: (metrics: SiteMetrics) => number | undefined,
  absent?: string,
): Family {
  return ofSites(name, help, value, value, absent);
}

function ofStreams(
  name: string,
  help: string,
  valueOf: (stream: StreamMetrics) => number | undefined,
  absent?: string,
): Family {
  return labelled(
    name,
    help,
    'stream',
    ALL_STREAMS,
    ({ streams }, stream) => streams[stream] && valueOf(streams[stream]),
    absent,
  );
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
