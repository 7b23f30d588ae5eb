/** Problems of libraries as one query. It needs no rules, and reacts sooner than the alerts. */
import {
  CHOSEN,
  DATA_AGE,
  ENTERED_TODAY,
  EXITED_TODAY,
  LAST_POLL,
  RAW_INSIDE,
  growth,
  ofSites,
  perCustomer,
  perSite,
} from './queries.ts';

const HOUR = 3_600;
const DAY = 24 * HOUR;

/** Seconds without a count. If nobody was counted since yesterday, occupancy is 0: at least one day. */
const SILENCE =
  `time() - ${perCustomer('library_people_last_seen_timestamp_seconds')}` +
  ` or (${RAW_INSIDE} == 0) + ${DAY}`;
const USUAL_IN_THIS_HOUR = growth('library_people_entered_total', '1h', 'offset 1w');
const USUAL_BY_NOW = ofSites('library_people_entered_today', 'offset 1w');
/** Libraries closed within the last hour: after opening, the first people take a while. */
const CLOSED = `max by (customer) (min_over_time(library_open{${CHOSEN}}[1h])) == 0`;

/** Nobody counted where five are usual: by chance that happens once in 150 times. */
const NOBODY_IS_COUNTED =
  `(${SILENCE}) > ${HOUR}` +
  ` and on (customer) (${USUAL_IN_THIS_HOUR} >= 5 or ${USUAL_BY_NOW} >= 5 and on (customer) ${ENTERED_TODAY} == 0)` +
  ` unless on (customer) ${CLOSED}`;
/** Nobody counted for a day, without data of last week. */
const NEVER_COUNTED = `(${SILENCE}) >= ${DAY} unless on (customer) ${USUAL_IN_THIS_HOUR} unless on (customer) ${CLOSED}`;

/**
 * A device with a twentieth of the month's entries that counted nobody today, while a hundred people came.
 */
const SILENT_DEVICE =
  `max by (customer) (${ofDevices('library_device_people_entered_today')} + ${ofDevices('library_device_people_exited_today')} == 0` +
  ` and on (customer, device) ${ofDevices('library_device_people_entered_total')} > on (customer) group_left () 0.05 * ${perCustomer('library_people_entered_total')})` +
  ` and on (customer) ${ENTERED_TODAY} >= 100`;

/** Entries and exits differ by a fifth, people inside not included. */
const DRIFT = `(abs(${ENTERED_TODAY} - ${EXITED_TODAY} - ${RAW_INSIDE}) / ${ENTERED_TODAY} > 0.2) and on (customer) ${ENTERED_TODAY} >= 100`;

/** Libraries above capacity by the lower bound of the estimate where there is one, as in LibraryOverCapacity. */
const OVER_CAPACITY = `max by (customer) ((${perSite('library_occupancy_estimate_lower_people')} or ${perSite('library_occupancy_people')}) > ${perSite('library_capacity_people')})`;

/** `silent` is not among them: it is similar to {@link NOBODY_IS_COUNTED}. */
const DOOR_FAULT = `max by (customer) (library_door_suspect{${CHOSEN},kind=~"entries_missing|exits_missing"}) == 1`;

/** Problem, and a query with a series for each library that has it. */
const PROBLEMS: readonly (readonly [words: string, query: string])[] = [
  ['nobody is being counted', `(${NOBODY_IS_COUNTED}) or (${NEVER_COUNTED})`],
  ['a door counter counts nobody', SILENT_DEVICE],
  ['more people than the capacity', OVER_CAPACITY],
  ['entries and exits drift apart', DRIFT],
  ['entries or exits are not counted', DOOR_FAULT],
  ['the data is old', `(${DATA_AGE}) > 900`],
  ['polls fail', `${LAST_POLL} == 0 unless on (customer) (${DATA_AGE}) > 900`],
  ['the credentials are refused', `${perCustomer('library_credentials_valid')} == 0`],
  [
    'an exporter does not answer',
    'label_replace(count(up{job=~"$job"} == 0 and on (job, instance) last_over_time(library_exporter_build_info{job=~"$job"}[1d])) > 0, "customer", "(exporter)", "", "")',
  ],
  [
    'no library is exported',
    'label_replace(absent(library_customer_info{job=~"$job"}), "customer", "(exporter)", "", "")',
  ],
];

/** A series for each library and problem, with the labels customer and problem. */
export const NEEDS_ATTENTION = PROBLEMS.map(
  ([words, query]) => `label_replace(${query}, "problem", "${words}", "", "")`,
).join(' or ');

function ofDevices(metric: string): string {
  return `max by (customer, device) (${metric}{${CHOSEN}})`;
}
