/**
 * The figures that more than one dashboard shows, as PromQL. Everything is taken `max by (customer)`:
 * two exporters with the same configuration show the same figures and must not count twice.
 */

/** What the variables of a dashboard about customers select. */
export const CHOSEN = 'job=~"$job",customer=~"$customer"';

/** What those of the dashboard about exporters select. */
export const CHOSEN_EXPORTERS = 'job=~"$job",instance=~"$instance"';

/** A gauge, one value a customer; `offset` as in `offset 1w`. */
export function perCustomer(metric: string, offset = ''): string {
  return `max by (customer) (${selector(metric)}${behind(offset)})`;
}

/** By how much a counter grew over the window before each instant, one value a customer. */
export function growth(metric: string, window: string, offset = ''): string {
  return `max by (customer) (increase(${selector(metric)}[${window}]${behind(offset)}))`;
}

/** Of people or logins; breakdowns are polled less often. */
const OF_MINUTES = 'stream=~"people|logins"';

export const INSIDE = perCustomer('library_occupancy_people');
export const FULLNESS = `${INSIDE} / on (customer) (${perCustomer('library_capacity_people')} > 0)`;
export const ENTERED_TODAY = perCustomer('library_people_entered_today');
export const EXITED_TODAY = perCustomer('library_people_exited_today');
export const LOGINS_TODAY = perCustomer('library_logins_today');
/** 1 inside the opening hours, 0 outside; no series where none are configured. */
export const OPEN = perCustomer('library_open');
/** Of people and logins the one that was read longest ago. */
export const DATA_AGE = `time() - min by (customer) (max by (customer, stream) (library_poll_last_success_timestamp_seconds{${CHOSEN},${OF_MINUTES}}))`;
/** 1 if the newest poll of both streams was good. */
export const LAST_POLL = `min by (customer) (max by (customer, stream) (library_up{${CHOSEN},${OF_MINUTES}}))`;
/** Today's entries as a share of those of the same part of the same weekday last week. */
export const AGAINST_LAST_WEEK = `${ENTERED_TODAY} / on (customer) (${perCustomer('library_people_entered_today', 'offset 1w')} > 0)`;

export const ENTERED_IN_A_DAY = growth('library_people_entered_total', '1d');

/** Only the twelve customers that are greatest at the end of the time range, at all its instants. */
export function twelveOf(query: string, greatest: string): string {
  return `${query} and on (customer) topk(12, ${greatest})`;
}

/** The library's own clock, in seconds; a second back, for an hour's last quarter ends in the next. */
const LOCAL_TIME = `time() - 1 + ${perCustomer('library_utc_offset_seconds')}`;

/**
 * The mean of a value of each customer over the window, by the library's own weekday (1 is Monday)
 * and hour (two digits). Time zones differ by quarters of an hour, so it is looked at every quarter.
 * PromQL's own clock is UTC: the offset that the exporter shows makes it the library's, and
 * `count_values` makes a label of it. A series is there only in its own hour of the week, which is
 * why its mean over the whole window is the mean of that hour.
 */
export function byLocalHour(value: string, window: string): string {
  const labelled = [
    value,
    `on (customer) group_left (weekday) count_values by (customer) ("weekday", day_of_week(${LOCAL_TIME}))`,
    `on (customer) group_left (hour) count_values by (customer) ("hour", hour(${LOCAL_TIME}))`,
  ].join(' * ');
  const twoDigits = `label_replace(avg_over_time((${labelled})[${window}:15m]), "hour", "0$1", "hour", "(.)")`;
  return `label_replace(${twoDigits}, "weekday", "7", "weekday", "0")`;
}

/** Entries an hour, for {@link byLocalHour}. */
export const ENTRY_RATE = `4 * ${growth('library_people_entered_total', '15m')}`;

function selector(metric: string): string {
  return `${metric}{${CHOSEN}}`;
}

function behind(offset: string): string {
  return offset === '' ? '' : ` ${offset}`;
}
