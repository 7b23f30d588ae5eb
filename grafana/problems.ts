/**
 * What needs a look, customer by customer, asked of the exporter's own series alone: it is there
 * without any rules. Gentler than the alerts of prometheus/rules, which wait, and know more.
 */
import {
  CHOSEN,
  DATA_AGE,
  ENTERED_TODAY,
  EXITED_TODAY,
  FULLNESS,
  LAST_POLL,
  growth,
  perCustomer,
} from './queries.ts';

const HOUR = 3_600;
const DAY = 24 * HOUR;

/**
 * How long nobody was counted. The time of the newest count is absent when nobody was counted today
 * or the day before, but occupancy is there as 0 then: a day at least.
 */
const SILENCE =
  `time() - ${perCustomer('library_people_last_seen_timestamp_seconds')}` +
  ` or (${perCustomer('library_occupancy_people')} == 0) + ${DAY}`;
const USUAL_IN_THIS_HOUR = growth('library_people_entered_total', '1h', 'offset 1w');
const USUAL_BY_NOW = perCustomer('library_people_entered_today', 'offset 1w');
/** For an hour at least, so that nobody is missed who has just been let in. */
const CLOSED = `max by (customer) (min_over_time(library_open{${CHOSEN}}[1h])) == 0`;

/** Of five who usually come none comes by chance once in 150 times. */
const NOBODY_IS_COUNTED =
  `(${SILENCE}) > ${HOUR}` +
  ` and on (customer) (${USUAL_IN_THIS_HOUR} >= 5 or ${USUAL_BY_NOW} >= 5 and on (customer) ${ENTERED_TODAY} == 0)` +
  ` unless on (customer) ${CLOSED}`;
/** Where nothing is known of the week before. */
const NEVER_COUNTED = `(${SILENCE}) >= ${DAY} unless on (customer) ${USUAL_IN_THIS_HOUR} unless on (customer) ${CLOSED}`;

/**
 * A device that has counted nobody today though a hundred have come, and this month a twentieth of
 * all: of five who usually come its way none does by chance once in 150 times. The counters are
 * looked at as they are, for they are the month's totals.
 */
const SILENT_DEVICE =
  `max by (customer) (${ofDevices('library_device_people_entered_today')} + ${ofDevices('library_device_people_exited_today')} == 0` +
  ` and on (customer, device) ${ofDevices('library_device_people_entered_total')} > on (customer) group_left () 0.05 * ${perCustomer('library_people_entered_total')})` +
  ` and on (customer) ${ENTERED_TODAY} >= 100`;

/** A fifth more in than out, or out than in, once a hundred have come; those inside are not missing. */
const DRIFT = `(abs(${ENTERED_TODAY} - ${EXITED_TODAY} - ${perCustomer('library_occupancy_people')}) / ${ENTERED_TODAY} > 0.2) and on (customer) ${ENTERED_TODAY} >= 100`;

/** In words of the library, the query that has a series for every customer of whom it is true. */
const PROBLEMS: readonly (readonly [words: string, query: string])[] = [
  ['nobody is being counted', `(${NOBODY_IS_COUNTED}) or (${NEVER_COUNTED})`],
  ['one of its devices counts nobody', SILENT_DEVICE],
  ['more people than its capacity', `${FULLNESS} > 1`],
  ['entries and exits drift apart', DRIFT],
  ['its figures are old', `(${DATA_AGE}) > 900`],
  ['its polls fail', `${LAST_POLL} == 0 unless on (customer) (${DATA_AGE}) > 900`],
  ['its credentials are refused', `${perCustomer('library_credentials_valid')} == 0`],
];

/** A series for every customer and problem, with the labels customer and problem. */
export const NEEDS_A_LOOK = PROBLEMS.map(
  ([words, query]) => `label_replace(${query}, "problem", "${words}", "", "")`,
).join(' or ');

function ofDevices(metric: string): string {
  return `max by (customer, device) (${metric}{${CHOSEN}})`;
}
