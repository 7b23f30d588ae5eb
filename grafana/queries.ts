/**
 * Queries that more than one dashboard uses. Everything is `max by (customer)`: two exporters with the
 * same configuration show the same values and must not count twice.
 */

/** The selection of a dashboard about libraries. */
export const CHOSEN = 'job=~"$job",customer=~"$customer"';

/** The selection of the dashboard about exporters. */
export const CHOSEN_EXPORTERS = 'job=~"$job",instance=~"$instance"';

/**
 * `up`, `process_*` and `nodejs_*` exist for every other job, too. An exporter that is down has no series of
 * its own, so the last day counts.
 */
export function ofExporters(metric: string, function_ = '', range = ''): string {
  const series = `${metric}{${CHOSEN_EXPORTERS}}${range}`;
  const value = function_ === '' ? series : `${function_}(${series})`;
  return `${value} and on (job, instance) last_over_time(library_exporter_build_info{${CHOSEN_EXPORTERS}}[1d])`;
}

/** A gauge for each library; `offset` as in `offset 1w`. */
export function perCustomer(metric: string, offset = ''): string {
  return `max by (customer) (${selector(metric)}${behind(offset)})`;
}

/** A gauge for each building: a library, or its branches if it is polled by branch. */
export function perSite(metric: string, offset = ''): string {
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

/** Breakdowns are polled less often. */
const OF_MINUTES = 'stream=~"people|logins"';

/** Entries minus exits since the day started. */
export const RAW_INSIDE = ofSites('library_occupancy_people');
const ESTIMATED_SITES = perSite('library_occupancy_estimate_people');
/** People inside each building: the estimate where there is one. */
const INSIDE_SITES = `(${ESTIMATED_SITES} or ${perSite('library_occupancy_people')})`;
/**
 * People inside now: the estimate where there is one, else the raw value. The label `source` says
 * which. Not for averages and charts over time: an estimate comes and goes.
 */
export const INSIDE =
  `(label_replace(sum by (customer) ${INSIDE_SITES} and on (customer) ${ESTIMATED_SITES}, "source", "estimate", "", "")` +
  ` or on (customer) label_replace(${RAW_INSIDE}, "source", "raw", "", ""))`;
const CAPACITY = `(${perSite('library_capacity_people')} > 0)`;
/** Share of the capacity, of the fullest building of each library. */
export const FULLNESS = `max by (customer) (${INSIDE_SITES} / ${CAPACITY})`;
export const RAW_FULLNESS = `max by (customer) (${perSite('library_occupancy_people')} / ${CAPACITY})`;
export const ENTERED_TODAY = ofSites('library_people_entered_today');
export const EXITED_TODAY = ofSites('library_people_exited_today');
export const LOGINS_TODAY = perCustomer('library_logins_today');
/** 1 inside the opening hours, 0 outside; absent where none are configured. */
export const OPEN = perCustomer('library_open');
/** Age of people or logins, whichever is older. */
export const DATA_AGE = `time() - min by (customer) (max by (customer, stream) (library_poll_last_success_timestamp_seconds{${CHOSEN},${OF_MINUTES}}))`;
/** 1 if the last polls of people and logins succeeded. */
export const LAST_POLL = `min by (customer) (max by (customer, stream) (library_up{${CHOSEN},${OF_MINUTES}}))`;
/** Change of today's entries against the same time of the same weekday last week: 0.16 is 16 % more. */
export const AGAINST_LAST_WEEK = `${ENTERED_TODAY} / on (customer) (${ofSites('library_people_entered_today', 'offset 1w')} > 0) - 1`;

export const ENTERED_IN_A_DAY = growth('library_people_entered_total', '1d');

/** The twelve libraries that are largest at the end of the time range, at all its instants. */
export function twelveOf(query: string, greatest: string): string {
  return `${query} and on (customer) topk(12, ${greatest})`;
}

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
