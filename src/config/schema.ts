/**
 * Every key of the configuration: type, range, default, whether its value may be shown, and the rules of
 * several keys together. config.example.yaml explains each.
 */
import { z } from 'zod';
import { messageOf } from '../base/errors.ts';
import { BREAKDOWNS, KEY_TIMES, MINUTE_STREAMS, REQUEST_TIMES } from '../base/model.ts';
import { parseOpeningHours } from '../counting/calendar/opening-hours.ts';
import * as type from './values.ts';

/** Those of the series that has the labels, and of Prometheus. */
const RESERVED_LABELS = ['customer', 'branch', 'name', 'timezone', 'job', 'instance'];
const HOURS_SYNTAX =
  "expected OpenStreetMap's syntax, with ; between rules, as in Mo-Fr 08:00-20:00; Sa 10:00-16:00";

type Rules = z.core.$RefinementCtx;

/**
 * Rules of several keys are checked in any mapping, also after other problems. Values may be wrong there: of the
 * problems at one place, only the first is reported.
 */
const IN_MAPPINGS = { when: ({ value }: z.core.ParsePayload) => type.isMapping(value) };

const SERVICE = type
  .section('a mapping with base_url and auth_url', {
    base_url: type.serviceUrl('https://statistics.example.org'),
    auth_url: type.serviceUrl('https://identity.example.org'),
    scope: type.text('a scope such as ServiceAPI').default('ServiceAPI'),
    timeout: type.duration('100ms', '5m', '10s'),
    max_concurrency: type.number('an integer', 1, 1_000).default(32),
    max_requests_per_second: type.number('a number', 0.01, 100_000).optional(),
    request_times: type.oneOf(REQUEST_TIMES).default('offset'),
    key_times: type.oneOf(KEY_TIMES).default('local'),
    allow_insecure: type.trueOrFalse().default(false),
    proxy_url: type.proxyUrl().optional(),
    ca_file: type.path('a file with certificates').optional(),
  })
  .superRefine((values, rules) => {
    for (const key of ['base_url', 'auth_url'] as const) {
      if (isValid(rules, key) && isPlain(values[key]) && values.allow_insecure !== true) {
        add(rules, [key], 'must use https (or set allow_insecure: true)');
      }
    }
  }, IN_MAPPINGS);

const POLLING = type
  .section('a mapping with interval', {
    interval: type.duration('1s', '1d', '60s'),
    reconcile_interval: type.duration('1s', '1d', '1h'),
    breakdown_interval: type.duration('1s', '1d', '5m'),
  })
  .superRefine((values, rules) => {
    if (type.milliseconds(values.reconcile_interval) < type.milliseconds(values.interval)) {
      add(rules, ['reconcile_interval'], 'expected at least interval, got less');
    }
  }, IN_MAPPINGS);

const DEFAULTS = type.section('a mapping with timezone', {
  timezone: type.timezone().optional(),
  day_starts_at: type.timeOfDay().default('04:00'),
  estimate: type.trueOrFalse().default(true),
});

const CUSTOMER_FILE = type.path('a file or pattern such as customers/*.yaml');

/** The configuration file, but for its customers. */
export const CONFIG = type.section('a mapping with service and customers', {
  service: type.mapping(SERVICE),
  polling: type.mapping(POLLING).prefault({}),
  defaults: type.mapping(DEFAULTS).prefault({}),
  customers: z.array(z.unknown(), type.expected('a list of customers')).default([]),
  customer_files: z
    .array(CUSTOMER_FILE, type.expected('a list of files such as ["customers/*.yaml"]'))
    .meta(type.HARMLESS)
    .default([]),
});

const CAPACITY = type.number('an integer', 1, 1_000_000).optional();

const HOURS = {
  opening_hours: type.text('opening hours such as "Mo-Fr 08:00-20:00; PH off"', 1_000).optional(),
  staffed_hours: type.text('staffed hours such as "Mo-Fr 10:00-18:00; PH off"', 1_000).optional(),
  holidays: type.holidayRegion().optional(),
};

const BRANCH = type.section('a name such as Main Library, or a mapping', {
  name: type.text('a name such as Main Library').optional(),
  ...HOURS,
  capacity: CAPACITY,
  estimate: type.trueOrFalse().optional(),
});

const LABEL_NAME = type.hidden(
  `a label name of letters, digits and _, not reserved (${RESERVED_LABELS.join(', ')}, __…)`,
  (name) => /^(?!__)[a-z_]\w*$/i.test(name) && !RESERVED_LABELS.includes(name),
);
const LABELS_EXPECTED = type.expected('labels such as { region: north }');

const BRANCH_ID = type.text('a branch id of up to 64 characters such as 101', 64);
const BRANCHES_EXPECTED = type.expected('branch ids with names such as { 101: Main Library }');

const CUSTOMER_KEYS = type.section('a customer such as { name: …, client_id: … }', {
  name: type.text('a name of up to 128 visible characters', 128),
  client_id: type.text('the id from the API module tab'),
  client_secret: type.hidden('the secret', (text) => text !== '').optional(),
  client_secret_file: type.path('a file with the secret').optional(),
  timezone: type.timezone().optional(),
  day_starts_at: type.timeOfDay().optional(),
  estimate: type.trueOrFalse().optional(),
  capacity: CAPACITY,
  ...HOURS,
  labels: type
    .mapping(z.record(LABEL_NAME, type.text('a label value', 256, 0), LABELS_EXPECTED))
    .meta(type.HARMLESS)
    .default({}),
  streams: type.listOf(MINUTE_STREAMS, 1).default([...MINUTE_STREAMS]),
  breakdowns: type.listOf(BREAKDOWNS, 0).default([]),
  branches: type
    .mapping(z.record(BRANCH_ID, z.preprocess(nameAlone, BRANCH), BRANCHES_EXPECTED))
    .default({}),
});

export type ConfigFile = z.output<typeof CONFIG>;
export type CustomerEntry = z.output<typeof CUSTOMER_KEYS>;
type Branch = CustomerEntry['branches'][string];

/** A customer. Each is validated alone, so that its problems hide no others. */
export const CUSTOMER = CUSTOMER_KEYS.superRefine((customer, rules) => {
  function checkHours(path: string[], hours = '24/7', holidays?: string): boolean {
    const problem = problemOf(hours, holidays);
    if (problem !== '') {
      // The message may quote the hours.
      add(rules, path, problem, HOURS_SYNTAX);
    }
    return problem === '';
  }
  /** Returns any region in place of one that is wrong, so that only that is a problem. */
  function holidaysOf(site: CustomerEntry | Branch, ...path: string[]): string | undefined {
    return isValid(rules, ...path, 'holidays') ? site.holidays : 'dk';
  }
  const isInline = customer.client_secret !== undefined;
  if (isInline === (customer.client_secret_file !== undefined)) {
    const message = 'expected one of client_secret_file and client_secret, got';
    add(rules, ['client_secret_file'], `${message} ${isInline ? 'both' : 'neither'}`);
  }
  const breakdowns = isValid(rules, 'breakdowns') ? customer.breakdowns : undefined;
  const isCounted = !isValid(rules, 'streams') || customer.streams.includes('people');
  if (breakdowns !== undefined && breakdowns.length > 0 && !isCounted) {
    add(rules, ['breakdowns'], 'expected people in streams, which breakdowns are of');
  }
  const isByBranch = breakdowns?.includes('branch');
  if (isByBranch === true && customer.capacity !== undefined) {
    const message = 'expected capacity under branches, because breakdowns has branch';
    add(rules, ['capacity'], message);
  }
  const branches = Object.entries<Branch>(Object(customer.branches)).filter(([, branch]) =>
    type.isMapping(branch),
  );
  for (const [id, branch] of isByBranch === false ? branches : []) {
    for (const key of Object.keys(branch).filter((one) => one !== 'name')) {
      const message = 'expected branch in breakdowns, which this key needs';
      add(rules, ['branches', id, key], message);
    }
  }
  const holidays = holidaysOf(customer);
  for (const key of ['opening_hours', 'staffed_hours'] as const) {
    const areHours = isValid(rules, key) && checkHours([key], customer[key], holidays);
    for (const [id, branch] of branches) {
      // Where only the holidays of a branch differ, they must fit the hours of its customer.
      const hours = branch[key] ?? (areHours ? customer[key] : undefined);
      const path = ['branches', id, branch[key] === undefined ? 'holidays' : key];
      checkHours(path, hours, holidaysOf(branch, 'branches', id) ?? holidays);
    }
  }
}, IN_MAPPINGS);

/** What is wrong with hours, by hours and holidays: parsing takes 3 ms, and a thousand customers often have the same. */
const HOURS_PROBLEMS = new Map<string, string>();

/** Returns what is wrong with hours, or nothing. */
function problemOf(hours: string, holidays: string | undefined): string {
  const key = JSON.stringify([hours, holidays]);
  let problem = HOURS_PROBLEMS.get(key);
  if (problem === undefined) {
    try {
      parseOpeningHours(hours, holidays);
      problem = '';
    } catch (error) {
      problem = messageOf(error);
    }
    HOURS_PROBLEMS.set(key, problem);
  }
  return problem;
}

/** A text in place of a branch is its name. */
function nameAlone(branch: unknown): unknown {
  return typeof branch === 'string' ? { name: branch } : branch;
}

/** Adds the problem of a rule. Where the value at its path must not be shown, `unquoted` is the message. */
function add(rules: Rules, path: string[], message: string, unquoted?: string): void {
  rules.addIssue({ code: 'custom', path, message, params: { unquoted } });
}

/** Returns whether a value, all of its parts and what it is in have no problem so far. */
function isValid({ issues }: Rules, ...path: readonly string[]): boolean {
  return !issues.some(
    ({ code, path: wrong = [] }) =>
      code !== 'unrecognized_keys' &&
      wrong.every((step, i) => i >= path.length || step === path[i]),
  );
}

/** Returns true for a URL that others can read what is sent to. */
function isPlain(url: string): boolean {
  return url.startsWith('http:') && !isLoopback(url);
}

/** Returns true for a URL of this machine, where nobody else can read what is sent. */
function isLoopback(url: string): boolean {
  const { hostname = '' } = URL.parse(url) ?? {};
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}
