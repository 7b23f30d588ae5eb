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
/** What is tried to find out for how long a counter or a count of today has not changed; each step costs. */
const HOURS = { counter: [168, 24, 6], today: [6, 2] };
/** Share of the month's entries: others may be opened on some days only, as in the rules. */
const MAIN_DOOR = 0.1;

const ACCEPTED = 'library_values_accepted_timestamp_seconds';

interface Problem {
  readonly words: string;
  /** A series for each library or site that has it. */
  readonly found: string;
  /** Milliseconds of the Unix time since when, -1 where it is not known, of all that can have it. */
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
  const since = `(1000 * min by (customer) (${accepted}) or on (customer) 0 * ${info(of)} - 1)`;
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
  const expected = orWithinAnHour('min', of, 'library_people_expected_since_last_seen', when);
  const entries = missingIn('in', of, when);
  const exits = missingIn('out', of, when);
  const lastSeen = orWithinAnHour('max', of, 'library_people_last_seen_timestamp_seconds', when);
  const usual = gauge(of, 'library_people_entered_usual_today', when);
  const neverSeen = `${usual} unless on (customer, branch) ${lastSeen}`;
  return [
    {
      words: 'nobody is being counted',
      found: `${expected} >= ${MANY}`,
      since: `(1000 * ${lastSeen} or on (customer, branch) 0 * ${expected} - 1)`,
      missed: expected,
    },
    {
      words: 'nobody has been counted for four weeks',
      found: neverSeen,
      since: `1000 * (0 * ${usual} + time() - ${4 * WEEK})`,
    },
    {
      words: 'no entries are counted',
      found: entries,
      since: unchangedSince(todayOf(of, 'entered')),
      missed: entries,
    },
    {
      words: 'no exits are counted',
      found: exits,
      since: unchangedSince(todayOf(of, 'exited')),
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

/** A gauge of sites; within an hour after its last value that, because a new exporter reads the history first. */
function orWithinAnHour(
  aggregation: 'min' | 'max',
  { sites }: Selection,
  metric: string,
  when: string,
): string {
  const by = `${aggregation} by (customer, branch)`;
  const before = `last_over_time(${metric}{${sites}}[1h]${modifier(when)})`;
  return `(${by} (${metric}{${sites}}${modifier(when)}) or ${by} (${before}))`;
}

/** Counts that did not come in one direction, while people were counted in the other. */
function missingIn(direction: 'in' | 'out', { sites }: Selection, when: string): string {
  const series = `library_people_direction_expected_since_last_seen{${sites},direction="${direction}"}`;
  return `min by (customer, branch) (${series}${modifier(when)}) >= ${MANY_IN_ONE_DIRECTION}`;
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

/** Since when the first dead door of a library has counted nobody, at least. */
function deadDoorsSince(of: Selection): string {
  const silence = unchangedFor(
    HOURS.counter,
    (when) => ofDoors('entered_total', of, when),
    'customer, device',
  );
  const longest = `max by (customer) (${silence} and on (customer, device) (${missedByDoor(of)}))`;
  return `(1000 * (time() - ${longest}) or on (customer) 0 * ${info(of)} - 1)`;
}

/** Since when a value of sites has not changed, at least. */
function unchangedSince(value: (when: string) => string): string {
  const silence = unchangedFor(HOURS.today, value, 'customer, branch');
  return `(1000 * (time() - ${silence}) or on (customer, branch) 0 * ${value('')} - 1)`;
}

/** Seconds for which a value has not changed, at least; absent if that is less than the fewest hours. */
function unchangedFor(
  hoursTried: readonly number[],
  value: (when: string) => string,
  by: string,
): string {
  const steps = hoursTried.map(
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
  // Without data there is no value to leave out.
  const customers = problemsOfCustomers(of).slice(0, -1);
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
  return `${rows(of, sinceWhen)} or ${exporterRows(of, 'since')}`;
}

/** About how many people were not counted, of the problems that {@link problemsSince} lists. */
export function problemsMissed(of: Selection): string {
  return `${rows(of, howManyMissed)} or ${exporterRows(of, 'missed')}`;
}

function sinceWhen({ found, since }: Problem, by: string): string {
  return since === undefined ? `0 * (${found}) - 1` : `${since} and on (${by}) (${found})`;
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
function exporterRows({ customers }: Selection, value: 'since' | 'missed'): string {
  const [job] = customers.split(',');
  const info = `library_exporter_build_info{${job}}`;
  const down = `up{${job}} == 0`;
  const last =
    value === 'since'
      ? `1000 * max_over_time(timestamp(${info})[1d:2m])`
      : `0 * last_over_time(${info}[1d]) - 1`;
  const found = `max by (job, instance) (${last}) and on (job, instance) ${down}`;
  const exporters = `label_replace(label_replace(${found}, "rank", "a", "", ""), "problem", "exporter $1 does not answer", "instance", "(.+)")`;
  const anyDown = `(last_over_time(${info}[1d]) and on (job, instance) ${down})`;
  const nothing = `0 * absent(library_site_info{${job}}) - 1 unless on () ${anyDown}`;
  return `${exporters} or ${sayingWhat(nothing, 'no library is exported', 0)}`;
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
