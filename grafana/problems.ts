/**
 * Problems of sites as two queries: since when, and how many people were missed. They need no rules, and react
 * sooner than the alerts. One row for each site: of several problems the cause.
 */
import { capacity, customerGauge, gauge, info, inside, labelled, named } from './queries.ts';
import type { Selection } from './queries.ts';

/** Counts that did not come, from which on they are missed: by chance that is rare. */
const MANY = 10;
const MANY_IN_ONE_DIRECTION = 6;
/** Seconds: five polls. */
const FAILING = 300;
/** Seconds: the limit of the alert LibraryDataStale. */
const OLD = 900;
const WEEK = 7 * 86_400;
/** What is tried to find out for how long a value has not changed. */
const HOURS = [168, 72, 48, 24, 12, 6, 3, 2, 1];
/** Share of the month's entries: others may be opened on some days only, as in the rules. */
const MAIN_DOOR = 0.1;

const ACCEPTED = 'library_values_accepted_timestamp_seconds';

interface Problem {
  readonly words: string;
  /** A series for each library or site that has it. */
  readonly found: string;
  /** Seconds of the Unix time since when, as far as it is known. */
  readonly since?: string;
  /** People who were not counted. */
  readonly missed?: string;
}

const MINUTES = 'stream=~"people|logins"';
/** Polled less often. */
const BRANCH = 'stream="branch"';
const ALL = 'stream=~"people|logins|branch"';

/** Problems of a whole library, in the order of causes. The time is that of the query: not for charts. */
function problemsOfCustomers(of: Selection): readonly Problem[] {
  const accepted = byStream(of, ACCEPTED, ALL);
  const since = `min by (customer) (${accepted})`;
  return [
    {
      words: 'the credentials are refused',
      found: `${customerGauge(of, 'library_credentials_valid')} == 0`,
      since,
    },
    {
      words: 'polls fail',
      found: `max by (customer) (${failing(of, MINUTES, FAILING)} or ${failing(of, BRANCH, OLD)})`,
      since,
    },
    {
      words: 'the data is old',
      found: `max by (customer) (time() - ${byStream(of, ACCEPTED, MINUTES)} > ${OLD})`,
      since,
    },
    { words: 'no data yet', found: `${info(of)} unless on (customer) ${accepted}` },
  ];
}

/** Streams whose last poll failed, and whose values are older than so many seconds. */
function failing(of: Selection, streams: string, seconds: number): string {
  const age = `time() - ${byStream(of, ACCEPTED, streams)}`;
  return `${byStream(of, 'library_up', streams)} == 0 unless on (customer, stream) ${age} <= ${seconds}`;
}

/**
 * Problems of a site that make its counts wrong, in the order of causes. Of two exporters the one that misses
 * fewer is right.
 */
function faultsOfSites(of: Selection, when = ''): readonly Problem[] {
  const expected = least(of, 'library_people_expected_since_last_seen', '', when);
  const entries = missingIn('in', of, when);
  const exits = missingIn('out', of, when);
  const lastSeen = gauge(of, 'library_people_last_seen_timestamp_seconds', when);
  const usual = gauge(of, 'library_people_entered_usual_today', when);
  const neverSeen = `${usual} unless on (customer, branch) ${lastSeen}`;
  return [
    {
      words: 'nobody is being counted',
      found: `${expected} >= ${MANY}`,
      since: lastSeen,
      missed: expected,
    },
    {
      words: 'nobody has been counted for four weeks',
      found: neverSeen,
      since: `0 * (${neverSeen}) + time() - ${4 * WEEK}`,
    },
    {
      words: 'no entries are counted',
      found: entries,
      since: `time() - ${unchangedFor(todayOf(of, 'entered'), 'customer, branch')}`,
      missed: entries,
    },
    {
      words: 'no exits are counted',
      found: exits,
      since: `time() - ${unchangedFor(todayOf(of, 'exited'), 'customer, branch')}`,
      missed: exits,
    },
    {
      words: 'a door counts nobody',
      found: missedAtDeadDoors(of, when),
      since: deadDoorsSince(of),
      missed: missedAtDeadDoors(of, when),
    },
    {
      words: 'entries and exits do not match',
      found: `max by (customer, branch) (library_door_suspect{${of.sites},kind="unbalanced"}${modifier(when)}) == 1`,
    },
  ];
}

/** Counts that did not come in one direction, while people were counted in the other. */
function missingIn(direction: 'in' | 'out', of: Selection, when: string): string {
  const metric = 'library_people_direction_expected_since_last_seen';
  return `${least(of, metric, `,direction="${direction}"`, when)} >= ${MANY_IN_ONE_DIRECTION}`;
}

function least({ sites }: Selection, metric: string, matcher: string, when: string): string {
  return `min by (customer, branch) (${metric}{${sites}${matcher}}${modifier(when)})`;
}

/** More people inside than the capacity: a problem, but not of the counts. */
function overCapacity(of: Selection): Problem {
  return {
    words: 'more people than the capacity',
    found: `${inside(of)} > ${capacity(of)}`,
  };
}

/** Entries missed today at doors that counted nobody, by library. */
function missedAtDeadDoors(of: Selection, when: string): string {
  return `sum by (customer) (${missedByDoor(of, when)}) >= ${MANY}`;
}

/**
 * About how many people each door counter that counted nobody today has missed, by its share of the month. Of
 * main doors only, and not where a library is polled by branch: one may be closed today.
 */
export function missedByDoor(of: Selection, when = ''): string {
  const total = `(${customerGauge(of, 'library_people_entered_total', when)} > 0)`;
  const share = `${ofDoors('entered_total', of, when)} / on (customer) group_left () ${total}`;
  const silent = `${ofDoors('entered_today', of, when)} + ${ofDoors('exited_today', of, when)} == 0`;
  const today = `max by (customer) (library_people_entered_today{${of.sites},branch=""}${modifier(when)})`;
  return `(${share} >= ${MAIN_DOOR} and on (customer, device) ${silent}) * on (customer) group_left () ${today}`;
}

/** Unix time since which the first dead door of a library has at least counted nobody. */
function deadDoorsSince(of: Selection): string {
  const silence = unchangedFor((when) => ofDoors('entered_total', of, when), 'customer, device');
  return `time() - max by (customer) (${silence} and on (customer, device) (${missedByDoor(of)}))`;
}

/** Seconds for which a value has at least not changed; absent if that is less than an hour. */
function unchangedFor(value: (when: string) => string, by: string): string {
  const steps = HOURS.map(
    (hours) => `0 * (${value('')} == ${value(`offset ${hours}h`)}) + ${3_600 * hours}`,
  );
  return `(${steps.join(` or on (${by}) `)})`;
}

function todayOf(of: Selection, direction: 'entered' | 'exited'): (when: string) => string {
  return (when) => gauge(of, `library_people_${direction}_today`, when);
}

function ofDoors(name: string, { customers }: Selection, when: string): string {
  return `max by (customer, device) (library_device_people_${name}{${customers}}${modifier(when)})`;
}

/**
 * A value of the sites whose counts are known and not in doubt, which `Needs attention` therefore does not
 * list. For queries of now, not for charts.
 */
export function trusted(of: Selection, value: string): string {
  const customers = problemsOfCustomers(of).slice(0, 3);
  return (
    `(${value} unless on (customer) (${anyOf(customers)})` +
    ` unless on (customer, branch) (${anyOf(faultsOfSites(of))})${labelled(of)})`
  );
}

/**
 * A value over time of the sites whose counts are not in doubt at the end of the time range, and whose exporter
 * has not stopped answering within a day; unless all have.
 */
export function trustedAtEnd(of: Selection, value: string): string {
  const atEnd = info(of, '@ end()');
  const gone = `${info(of, '@ end() offset 1d')} unless on (customer) ${atEnd} and on () ${atEnd}`;
  const faults = anyOf(faultsOfSites(of, '@ end()'));
  return `(${value} unless on (customer) (${gone}) unless on (customer, branch) (${faults})${labelled(of)})`;
}

/**
 * Sites where nobody was being counted at some time of the last day, for charts into the future; none if there
 * is no other site.
 */
export function silentWithinADay({ sites }: Selection): string {
  const missed = `min by (customer, branch) (max_over_time(library_people_expected_since_last_seen{${sites}}[1d]))`;
  return `(${missed} >= ${MANY} and on () ${missed} < ${MANY})`;
}

function anyOf(problems: readonly Problem[]): string {
  return problems.map(({ found }) => found).join(' or ');
}

/**
 * When each problem began, in milliseconds of the Unix time, -1 where it is not known: a series for each site
 * or exporter that has one, with the labels customer, name (of the branch), problem and rank.
 */
export function problemsSince(of: Selection): string {
  return `${rows(of, sinceWhen)} or ${exportersSince(of)}`;
}

/** About how many people were not counted, of the problems that {@link problemsSince} lists. */
export function problemsMissed(of: Selection): string {
  return `${rows(of, howManyMissed)} or 0 * (${exportersSince(of)}) - 1`;
}

function sinceWhen({ found, since }: Problem, by: string): string {
  const unknown = `0 * (${found}) - 1`;
  return since === undefined
    ? unknown
    : `1000 * (${since} and on (${by}) (${found})) or on (${by}) ${unknown}`;
}

function howManyMissed({ found, missed }: Problem, by: string): string {
  return missed === undefined ? `0 * (${found}) - 1` : `${missed} and on (${by}) (${found})`;
}

/** A series for each site with a problem: the first one of the library as a whole, else of the site. */
function rows(of: Selection, value: (problem: Problem, by: string) => string): string {
  const customers = problemsOfCustomers(of);
  const sites = [...faultsOfSites(of), overCapacity(of)];
  const all = [
    ...customers.map((one) => [one, 'customer'] as const),
    ...sites.map((one) => [one, 'customer, branch'] as const),
  ];
  const series = all.map(([problem, by], index) =>
    sayingWhat(`max by (${by}) (${value(problem, by)})`, problem.words, index + 1),
  );
  const ofCustomers = series.slice(0, customers.length).join(' or on (customer) ');
  const ofSites = series.slice(customers.length).join(' or on (customer, branch) ');
  return named(of, `${ofCustomers} or on (customer) (${ofSites})`);
}

/** Exporters that do not answer, since their last answer; or that there is no library at all. */
function exportersSince({ customers }: Selection): string {
  const [job] = customers.split(',');
  const last = `max by (job, instance) (max_over_time(timestamp(library_exporter_build_info{${job}})[1d:1m]))`;
  const down = `1000 * ${last} and on (job, instance) up{${job}} == 0`;
  const nothing = `0 * absent(library_customer_info{${job}}) - 1 unless on () up{${job}} == 0`;
  const ranked = `label_replace(${down}, "rank", "a", "", "")`;
  const rowsOfExporters = `label_replace(${ranked}, "problem", "exporter $1 does not answer", "instance", "(.+)")`;
  return `${rowsOfExporters} or ${sayingWhat(nothing, 'no library is exported', 0)}`;
}

function sayingWhat(series: string, words: string, rank: number): string {
  const letter = String.fromCharCode('a'.charCodeAt(0) + rank);
  return `label_replace(label_replace(${series}, "problem", "${words}", "", ""), "rank", "${letter}", "", "")`;
}

/** The value of each stream of a library. */
function byStream({ customers }: Selection, metric: string, streams: string): string {
  return `max by (customer, stream) (${metric}{${customers},${streams}})`;
}

function modifier(when: string): string {
  return when === '' ? '' : ` ${when}`;
}
