/**
 * The queries of Patterns and Statistics that are by library only.
 *
 * Queries that more than one dashboard uses. Everything is `max by (customer)`: two exporters with the
 * same configuration show the same values and must not count twice.
 */

/** The selection of a dashboard about libraries. */
export const CHOSEN = 'job=~"$job",customer=~"$customer"';

/** A gauge for each library; `offset` as in `offset 1w`. */
export function perCustomer(metric: string, offset = ''): string {
  return `max by (customer) (${selector(metric)}${behind(offset)})`;
}

/** A gauge for each building: a library, or its branches if it is polled by branch. */
function perSite(metric: string, offset = ''): string {
  return `max by (customer, branch) (${selector(metric)}${behind(offset)})`;
}

/** A gauge of buildings for each library: the sum over its branches, if it is polled by branch. */
export function ofSites(metric: string, offset = ''): string {
  return `sum by (customer) (${perSite(metric, offset)})`;
}

/** Increase of a counter over the window, for each library. */
export function growth(metric: string, window: string, offset = ''): string {
  return `max by (customer) (increase(${selector(metric)}[${window}]${behind(offset)}))`;
}

/** Entries minus exits since the day started. */
export const RAW_INSIDE = ofSites('library_occupancy_people');
const CAPACITY = `(${perSite('library_capacity_people')} > 0)`;
export const RAW_FULLNESS = `max by (customer) (${perSite('library_occupancy_people')} / ${CAPACITY})`;
/** 1 inside the opening hours, 0 outside; absent where none are configured. */
export const OPEN = perCustomer('library_open');
/** Local time of the library; one second earlier, because an hour's last half ends in the next hour. */
const LOCAL_TIME = `time() - 1 + ${perCustomer('library_utc_offset_seconds')}`;

/**
 * Mean of a value over the window, by local weekday (1 is Monday) and hour (two digits). PromQL's clock
 * is UTC: the exported offset makes it local, and `count_values` turns it into a label. A series exists
 * only in its own hour of the week, so its mean over the window is the mean of that hour. The step is
 * 30 minutes because time zones differ by half hours; where it is a quarter (Nepal), hours begin a
 * quarter early. A step of 15 minutes would take twice as long.
 */
export function byLocalHour(value: string, window: string): string {
  const labelled = [
    value,
    `on (customer) group_left (weekday) count_values by (customer) ("weekday", day_of_week(${LOCAL_TIME}))`,
    `on (customer) group_left (hour) count_values by (customer) ("hour", hour(${LOCAL_TIME}))`,
  ].join(' * ');
  const twoDigits = `label_replace(avg_over_time((${labelled})[${window}:30m]), "hour", "0$1", "hour", "(.)")`;
  return `label_replace(${twoDigits}, "weekday", "7", "weekday", "0")`;
}

/** Entries per hour, for {@link byLocalHour}. */
export const ENTRY_RATE = `2 * ${growth('library_people_entered_total', '30m')}`;

function selector(metric: string): string {
  return `${metric}{${CHOSEN}}`;
}

function behind(offset: string): string {
  return offset === '' ? '' : ` ${offset}`;
}
