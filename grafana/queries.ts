/**
 * Pieces of PromQL. A site is a building: a branch where a library is polled by branch, else the library. Of two
 * exporters with the same configuration the higher value counts, so that nobody is counted twice.
 */

/** The chosen libraries. */
export const LIBRARIES = 'job=~"$job",customer=~"$customer"';
/** The chosen libraries in recordings, which have no job. */
export const RECORDED = 'customer=~"$customer"';
/** One library. */
export const LIBRARY = 'job=~"$job",customer="$customer"';
/** Its chosen branches. A library that is not polled by branch has none: then any choice fits. */
export const BRANCHES = `${LIBRARY},branch=~"$branch"`;
/** One branch. */
export const BRANCH = `${LIBRARY},branch="$branch"`;
/** The chosen exporters. */
export const EXPORTERS = 'job=~"$job",instance=~"$instance"';

/** A value by site. */
export function bySite(metric: string, of: string): string {
  return `max by (customer, branch) (${metric}{${of}})`;
}

/** A value by library. `when` is a modifier, as in ` offset 1w`. */
export function byLibrary(metric: string, of: string, when = ''): string {
  return `max by (customer) (${metric}{${of}}${when})`;
}

/** The sum over sites. */
export function sum(metric: string, of: string): string {
  return `sum(${bySite(metric, of)})`;
}

/** The sum over the sites whose counts are right and new, over time: are so at the end of the time range. */
export function trustedSum(metric: string, of: string, when: '' | ' @ end()' = ''): string {
  const untrusted = `library_counts_trusted{${of}}${when} == 0`;
  return `sum(max by (customer, branch) (${metric}{${of}} unless ${untrusted}))`;
}

/** People usually inside the sites where it is known how many are inside. */
export function usualWhereKnown(of: string): string {
  const inside = `library_inside_people{${of}}`;
  return `sum(max by (customer, branch) (library_occupancy_usual_people{${of}} and ${inside}))`;
}

/** Since when each problem lasts, in milliseconds of the Unix time. */
export function problems(of: string, by = 'customer, branch, name, problem'): string {
  return `1000 * max by (${by}) (library_problem_start_timestamp_seconds{${of}})`;
}

/** How many people were missed at each site with a problem, 0 left out. */
export function missed(of: string): string {
  const zero = `0 * library_problem_start_timestamp_seconds{${of}}`;
  const people = `on (job, instance, customer, branch) group_left () library_people_missed{${of}}`;
  return `max by (customer, branch, name, problem) (${zero} + ${people}) > 0`;
}

/** How many exporters of the last day do not answer now. Other jobs have `up`, too. */
export function notAnswering(of: string): string {
  return `sum(1 - up{${of}} and on (job, instance) last_over_time(library_exporter_build_info{${of}}[1d]))`;
}

/** A value of recordings by month and site, with the name of the branch. */
export function named(recorded: string): string {
  const names = `topk by (customer, branch) (1, last_over_time(library_site_info{${RECORDED}}[4h]))`;
  return `${recorded} * on (customer, branch) group_left (name) ${names}`;
}
