/**
 * The families with the label `customer`, as a table, in the order of the exposition, from which
 * docs/reference/metrics.md is made. A value changes only with a poll or at `validUntilMs`, never by
 * itself.
 */
import { ALL_COUNTERS, BREAKDOWNS, COUNTERS, MINUTE_STREAMS } from '../base/model.ts';
import type { Breakdown, Stream } from '../base/model.ts';
import type { DevicePlace } from '../counting/devices.ts';
import type { BranchMetrics, CustomerMetrics } from '../counting/customer-metrics.ts';
import { PROBLEM_KINDS } from '../counting/problems.ts';
import type { Problem } from '../counting/problems.ts';
import { CUSTOMER, SITES, keysOf, labelledSeriesOf, seriesOf, writeLabels } from './family.ts';
import type { Family } from './family.ts';

const ALL_STREAMS: readonly Stream[] = [...MINUTE_STREAMS, ...BREAKDOWNS];

const COUNTED = {
  people_entered: 'People counted in',
  people_exited: 'People counted out',
  logins: 'Patron logins',
} as const;

const ofCustomer = seriesOf(CUSTOMER);
const ofStream = labelledSeriesOf(CUSTOMER, 'stream', ALL_STREAMS);
const ofCounter = labelledSeriesOf(CUSTOMER, 'counter', ALL_COUNTERS);
const ofSite = seriesOf(SITES);
const ofPeriod = seriesOf<CustomerMetrics>({
  ...CUSTOMER,
  labelNames: ['month'],
  labels: ({ month }) => writeLabels(['month', month]),
});
/** A customer that is polled by branch has one without `branch` until a branch is known. */
const ofSiteInfo = seriesOf<readonly [CustomerMetrics, BranchMetrics?]>({
  labelNames: ['branch', 'name', 'timezone'],
  subjects: (metrics) => {
    const branches = metrics.branches ?? [];
    return branches.length === 0 ? [[metrics]] : branches.map((branch) => [metrics, branch]);
  },
  labels: ([{ timezone, labels }, branch], { infoLabelNames }) =>
    writeLabels(
      ...(branch === undefined ? [] : [['branch', branch.key] as const]),
      ['name', branch === undefined ? '' : (branch.name ?? branch.key)],
      ['timezone', timezone],
      ...infoLabelNames.map((name) => [name, ownLabel(labels, name)] as const),
    ),
});

const ofDevicePlace = seriesOf<readonly [device: string, place: DevicePlace]>({
  labelNames: ['device', 'branch', 'client'],
  subjects: ({ breakdowns }) =>
    (breakdowns.device?.keys ?? []).flatMap(({ key, device }) =>
      device?.place === undefined ? [] : [[key, device.place]],
    ),
  labels: ([device, place]) => {
    const ids = Object.entries(place).filter(([, id]) => id !== undefined);
    return writeLabels(['device', device], ...ids);
  },
});

const NO_ESTIMATE =
  'like library_occupancy_people, until the past is read, where the building does not ' +
  'empty at night, while library_counts_trusted is 0, and with estimate: false';
const NO_BOUNDS = 'like library_occupancy_estimate_people';
const NO_RATIO = 'before three days with at least 40 counts, and with estimate: false';

const ESTIMATE_FAMILIES: readonly Family[] = [
  ofSite(
    'library_occupancy_estimate_people',
    'Estimated people inside, corrected for the errors of the doors.',
    ({ estimate }) => estimate.people?.people,
    NO_ESTIMATE,
  ),
  ofSite(
    'library_occupancy_estimate_lower_people',
    'Lower bound of the 90% interval of the estimate.',
    ({ estimate }) => estimate.people?.lower,
    NO_BOUNDS,
  ),
  ofSite(
    'library_occupancy_estimate_upper_people',
    'Upper bound of the 90% interval of the estimate.',
    ({ estimate }) => estimate.people?.upper,
    NO_BOUNDS,
  ),
  ofSite(
    'library_door_count_ratio',
    'Entries counted per exit counted, learned from the last 28 days.',
    ({ estimate }) => estimate.ratio,
    NO_RATIO,
  ),
];

const NO_USUAL_HOUR =
  'until the past is read, while the newest accepted poll is older than 15 minutes, and while the ' +
  'keys of minutes cannot be parsed';
const NO_USUAL = 'like library_people_entered_usual_hour';

const USUAL_FAMILIES: readonly Family[] = [
  ofSite(
    'library_people_entered_usual_hour',
    'Entries usual within the last hour.',
    ({ usual }) => usual?.entriesLastHour,
    NO_USUAL_HOUR,
  ),
  ofSite(
    'library_people_entered_usual_today',
    'Entries usual since the day started.',
    ({ usual }) => usual?.entriesToday,
    `${NO_USUAL}, and until the first accepted poll of the day`,
  ),
  ofSite(
    'library_occupancy_usual_people',
    'People usually inside now.',
    ({ usual }) => usual?.inside,
    NO_USUAL,
  ),
];

const NOT_SEEN = 'if there was none within 28 days, and while the keys of minutes cannot be parsed';

/**
 * Families that follow from the service's rows and the configuration, so that `backfill` can write them,
 * too.
 */
export const BACKFILL_FAMILIES: readonly Family[] = [
  ofSiteInfo(
    'library_site_info',
    'Name of the building, time zone and configured labels; always 1.',
    () => 1,
  ),
  ofCustomer(
    'library_utc_offset_seconds',
    'Current UTC offset of the time zone.',
    (metrics) => metrics.utcOffsetSeconds,
  ),
  ofCustomer(
    'library_period_start_timestamp_seconds',
    'Start of the counting period, when the counters were last 0.',
    (metrics) => seconds(metrics.periodStartMs),
  ),
  ofPeriod(
    'library_period_info',
    'Month of the counting period, as in 2026-11; always 1.',
    () => 1,
  ),
  ofSite(
    'library_open',
    '1 inside the opening hours, 0 outside.',
    (metrics) => flag(metrics.open),
    'if no opening hours are configured',
  ),
  ofSite(
    'library_staffed',
    '1 inside the staffed hours, 0 outside.',
    (metrics) => flag(metrics.staffed),
    'if no staffed hours are configured',
  ),
  ofSite(
    'library_capacity_people',
    'Configured capacity.',
    (metrics) => metrics.capacity,
    'if no capacity is configured',
  ),
  ofSite(
    'library_occupancy_people',
    'Entries minus exits of the day, as counted.',
    (metrics) => metrics.occupancy,
    'until the first accepted poll of the day, while the newest one is older than 15 minutes, and ' +
      'while the keys of minutes cannot be parsed',
  ),
  ...ESTIMATE_FAMILIES,
  ...ALL_COUNTERS.map((counter) =>
    ofCustomer(
      `library_${counter}_total`,
      `${COUNTED[counter]} since the counting period started.`,
      ({ counters }) => counters[counter]?.total,
    ),
  ),
  ...COUNTERS.people.map((counter) =>
    ofSite(
      `library_${counter}_today`,
      `${COUNTED[counter]} since the day started.`,
      ({ counters }) => counters[counter]?.today,
    ),
  ),
  ofCustomer(
    'library_logins_today',
    'Patron logins since the day started.',
    ({ counters }) => counters.logins?.today,
  ),
  ofSite(
    'library_people_last_seen_timestamp_seconds',
    'Start of the newest minute that counted anybody.',
    (one) => seconds('streams' in one ? one.streams.people?.lastSeenMs : one.lastSeenMs),
    NOT_SEEN,
  ),
  ofCustomer(
    'library_logins_last_seen_timestamp_seconds',
    'Start of the newest minute with a login.',
    ({ streams }) => seconds(streams.logins?.lastSeenMs),
    NOT_SEEN,
  ),
  ...USUAL_FAMILIES,
  ofSite(
    'library_inside_people',
    'People inside now.',
    ({ inside }) => inside,
    'like library_occupancy_people, and while library_counts_trusted is 0',
  ),
  ofSite(
    'library_people_entered_hour',
    'Entries within the last hour.',
    ({ enteredHour }) => enteredHour,
    'like library_occupancy_people, and in the first hour of a day until the past is read',
  ),
  ofSite(
    'library_people_missed',
    'People who should have come or left since the last count, and were not counted.',
    ({ missed }) => missed,
    NO_USUAL,
  ),
];

/** A problem of a customer, or of one of its branches. */
interface ListedProblem extends Problem {
  readonly labels: string;
}

const PROBLEM_START = seriesOf<ListedProblem>({
  labelNames: ['branch', 'name', 'problem'],
  subjects: ({ problems, branches }) => [
    ...problems.map((one) => ({ ...one, labels: writeLabels(['problem', one.kind]) })),
    ...(branches ?? []).flatMap(({ key, name = key, problems: own }) =>
      own.map((one) => ({
        ...one,
        labels: writeLabels(['branch', key], ['name', name], ['problem', one.kind]),
      })),
    ),
  ],
  labels: ({ labels }) => labels,
})(
  'library_problem_start_timestamp_seconds',
  `Since when a problem lasts: ${PROBLEM_KINDS.join(', ')}.`,
  ({ sinceMs }) => seconds(sinceMs),
  'while there is no such problem; branch and name are absent for a customer',
);

/** Families that only a running exporter knows. */
const POLLING_FAMILIES: readonly Family[] = [
  ofSite(
    'library_counts_trusted',
    '0 while a problem makes the counts wrong or old, else 1.',
    ({ isTrusted }) => flag(isTrusted),
    'until the first poll',
  ),
  PROBLEM_START,
  ofCounter(
    'library_count_excess',
    "Exported counter minus the service's total now.",
    ({ counters }, counter) => counters[counter]?.excess,
  ),
  ofStream(
    'library_up',
    '1 if the last poll succeeded.',
    ({ streams }, stream) => flag(streams[stream]?.up),
    'until the first poll ended',
  ),
  ofStream(
    'library_poll_last_success_timestamp_seconds',
    'When the last successful poll ended.',
    ({ streams }, stream) => seconds(streams[stream]?.lastSuccessMs),
    'until the first successful poll',
  ),
  ofStream(
    'library_values_accepted_timestamp_seconds',
    'When values were last accepted.',
    ({ streams }, stream) => seconds(streams[stream]?.acceptedMs),
    'until the first accepted poll',
  ),
  ofStream(
    'library_polls_total',
    'Polls, failed ones included.',
    ({ streams }, stream) => streams[stream]?.polls,
  ),
  ofStream(
    'library_poll_failures_total',
    'Failed polls.',
    ({ streams }, stream) => streams[stream]?.failures,
  ),
  ofStream(
    'library_polls_skipped_total',
    'Polls skipped because the previous one was still running.',
    ({ streams }, stream) => streams[stream]?.skipped,
  ),
  ofCustomer(
    'library_credentials_valid',
    '1 if the service accepted the credentials, 0 if it refused them.',
    (metrics) => flag(metrics.credentialsValid),
    'until the service accepted or refused them',
  ),
];

export const CUSTOMER_FAMILIES: readonly Family[] = [...BACKFILL_FAMILIES, ...POLLING_FAMILIES];

/** Returns the families of these breakdowns. */
export function breakdownFamilies(configured: ReadonlySet<Breakdown>): readonly Family[] {
  const families = BREAKDOWNS.filter((breakdown) => configured.has(breakdown)).flatMap(familiesOf);
  return families.length === 0 ? [] : [...families, KEYS_DROPPED];
}

const KEYS_DROPPED = labelledSeriesOf(CUSTOMER, 'stream', BREAKDOWNS)(
  'library_breakdown_keys_dropped',
  'Keys above the limit of 1000 that are not exported.',
  ({ breakdowns }, breakdown) => breakdowns[breakdown]?.droppedKeys,
  'until the first accepted poll of the period',
);

/** Parts of the customer's sums, under names of their own. */
function familiesOf(breakdown: Breakdown): readonly Family[] {
  const keys = keysOf(breakdown);
  const ofKey = seriesOf(keys);
  return [
    ...COUNTERS.people.map((counter) =>
      ofKey(
        `library_${breakdown}_${counter}_total`,
        `${COUNTED[counter]} by ${breakdown} since the counting period started.`,
        ({ counters }) => counters[counter]?.total,
      ),
    ),
    // Those of a branch are gauges of a building.
    ...(breakdown === 'branch' ? [] : COUNTERS.people).map((counter) =>
      ofKey(
        `library_${breakdown}_${counter}_today`,
        `${COUNTED[counter]} by ${breakdown} since the day started.`,
        ({ counters }) => counters[counter]?.today,
      ),
    ),
    ...(breakdown === 'device'
      ? [
          ofDevicePlace(
            'library_device_info',
            'Branch and client of the device, as raw records show; always 1.',
            () => 1,
            'until records have shown the device; branch and client are absent where a record has none',
          ),
          ofKey(
            'library_device_last_seen_timestamp_seconds',
            'When the count of the device last rose, as far as it was polled.',
            ({ device }) => seconds(device?.lastSeenMs),
            'for a device without a count in this month and the last one',
          ),
          ofKey(
            'library_device_people_missed',
            'Share of the device in the people its building counted since it counted last.',
            ({ device }) => device?.missed,
            'until the past is read, for a device without a count in this month and the last one, and ' +
              'where branches are polled until it is known in which one it is',
          ),
        ]
      : []),
    labelledSeriesOf(keys, 'counter', COUNTERS.people)(
      `library_${breakdown}_count_excess`,
      `Exported counter minus the service's total now, by ${breakdown}.`,
      ({ counters }, counter) => counters[counter]?.excess,
    ),
  ];
}

function flag(value: boolean | undefined): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function seconds(instantMs: number | undefined): number | undefined {
  return instantMs === undefined ? undefined : instantMs / 1_000;
}

/** A label may have the name of a property that every object has. */
function ownLabel(labels: CustomerMetrics['labels'], name: string): string {
  return Object.hasOwn(labels, name) ? (labels[name] ?? '') : '';
}
