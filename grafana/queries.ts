/**
 * What the dashboards ask for, each idea as one function. A site is a building: a branch where a library is
 * polled by branch, else the library. Everything is the maximum of a site: two exporters with the same
 * configuration show the same values and must not count twice.
 */

/** The chosen series of a dashboard, as matchers. */
export interface Selection {
  /** Of values of a library. */
  readonly customers: string;
  /** Of values of a site. */
  readonly sites: string;
  /** Of `library_site_info`. */
  readonly info: string;
}

const CUSTOMERS = 'job=~"$job",customer=~"$customer"';
/** The libraries chosen by name. */
export const LIBRARIES: Selection = { customers: CUSTOMERS, sites: CUSTOMERS, info: CUSTOMERS };
/** The libraries chosen by name and by a configured label, such as region. */
export const LABELLED_LIBRARIES: Selection = {
  ...LIBRARIES,
  info: `${CUSTOMERS},$label=~"$value"`,
};
/** The chosen branches of a library. One that is not polled by branch has none: then any value fits it. */
export const BRANCHES: Selection = { ...LIBRARIES, sites: `${CUSTOMERS},branch=~"$branch"` };

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

/** A gauge by site; `when` is a modifier, as in `offset 1w`. */
export function gauge(of: Selection, metric: string, when = ''): string {
  return `max by (customer, branch) (${metric}{${of.sites}}${after(when)})`;
}

/** A gauge that a library has as a whole. */
export function customerGauge(of: Selection, metric: string, when = ''): string {
  return `max by (customer) (${metric}{${of.customers}}${after(when)})`;
}

/** Increase of the logins within a window, by library: they belong to no branch. */
export function logins(of: Selection, window: string, when = ''): string {
  return `max by (customer) (increase(library_logins_total{${of.customers}}[${window}]${after(when)}))`;
}

/** Entries since the day started, by site. */
export function entered(of: Selection, when = ''): string {
  return gauge(of, 'library_people_entered_today', when);
}

/** Entries within the last hour, by site. Today's entries start at 0 with the day. */
export function enteredLastHour(of: Selection): string {
  const before = entered(of, 'offset 1h');
  return `(${entered(of)} - ${before} * (${before} <= bool ${entered(of)}))`;
}

/**
 * People inside by site: the estimate; where none is possible the difference of entries and exits; 0 while
 * closed. Absent where an estimate is withheld, because a door is dead.
 */
export function inside(of: Selection, estimate = 'library_occupancy_estimate_people'): string {
  const raw = gauge(of, 'library_occupancy_people');
  const closed = `(${gauge(of, 'library_open')} == 0)`;
  // Of this kind there is a series where an estimate is possible.
  const estimable = `library_door_suspect{${of.sites},kind="silent"}`;
  const people = `${gauge(of, estimate)} or ${raw} unless on (customer, branch) ${estimable}`;
  return `((${people}) unless on (customer, branch) ${closed} or ${closed} and on (customer, branch) ${raw})`;
}

/** Configured capacity by site. */
export function capacity(of: Selection): string {
  return `(${gauge(of, 'library_capacity_people')} > 0)`;
}

/** A value of the sites that have another one, too: both sides of a comparison are of the same sites. */
export function comparable(value: string, other: string): string {
  return `(${value} and on (customer, branch) ${other})`;
}

/** Every site. */
export function sites(of: Selection, when = ''): string {
  return `max by (customer, branch) (library_site_info{${infoOf(of)}}${after(when)})`;
}

/** Number of sites, with those whose exporter has stopped answering within a day. */
export function siteCount(of: Selection): string {
  return `count(${sites(of)} or on (customer) ${sites(of, 'offset 1d')})`;
}

/** Every site with its name, also those whose exporter has stopped answering within a day. */
export function namedSites(of: Selection): string {
  const before = named(of, sites(of, 'offset 1d'), 'offset 1d');
  return `(${named(of, sites(of))} or on (customer) ${before})`;
}

/**
 * Sum over sites, with the labels `n` and `m` for the words "n of m": how many sites are in the sum, and how
 * many there are.
 */
export function summed(of: Selection, value: string): string {
  return (
    `sum(${value}) * on () group_left (n) count_values("n", count(${value}))` +
    ` * on () group_left (m) count_values("m", ${siteCount(of)})`
  );
}

/** A value of sites, or of libraries, with the label `name` of the branch, which is empty where there is none. */
export function named(of: Selection, value: string, when = ''): string {
  const names = `max by (customer, branch, name) (library_site_info{${infoOf(of)}}${after(when)})`;
  const branches = `topk by (customer, branch) (1, ${names})`;
  return `(${value}) * on (customer, branch) group_left (name) (${branches} or ${info(of, when)})`;
}

/** The chosen sites that have the chosen label, as matchers of `library_site_info`. */
export function infoOf({ sites: ofSites, info: ofInfo, customers }: Selection): string {
  return `${ofSites}${ofInfo.slice(customers.length)}`;
}

/** Every configured library. */
export function info(of: Selection, when = ''): string {
  return `max by (customer) (library_site_info{${of.info}}${after(when)})`;
}

/** Restricts sites to the libraries that have the chosen label. */
export function labelled(of: Selection, when = ''): string {
  return of.info === of.customers ? '' : ` and on (customer) ${info(of, when)}`;
}

function after(when: string): string {
  return when === '' ? '' : ` ${when}`;
}
