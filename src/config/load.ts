/**
 * Loads the configuration: files and environment in, a complete Config or all problems out. Keys that
 * depend on each other are checked after a problem, too, with what is valid.
 */
import { once } from 'node:events';
import { glob } from 'node:fs/promises';
import { dirname, extname, isAbsolute, join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { z } from 'zod';
import { nextTurn } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { Secret } from '../base/secret.ts';
import type { ServiceSettings } from '../base/service-settings.ts';
import type { WebConfig } from '../base/web-config.ts';
import { createOpeningHoursParser } from '../counting/calendar/opening-hours.ts';
import { EXPOSED, parseCertificates, parseSecret } from './files.ts';
import { failOn, Loading } from './loading.ts';
import type { DeepPartial, Loaded, LoadResult } from './loading.ts';
import type { ProblemFormatter } from './problems.ts';
import { createConfigSchema } from './schema.ts';
import type { ConfigFile, CustomerEntry } from './schema.ts';
import type { Config, CustomerConfig, PollingConfig } from './types.ts';
import { milliseconds } from './values.ts';
import { loadWebConfig } from './web.ts';
import type { Environment, Path, YamlFile } from './yaml-file.ts';

export interface LoadedConfig extends LoadResult<Config> {
  /** Undefined without a web configuration file. */
  readonly web?: LoadResult<WebConfig> | undefined;
}

/** A customer and where it is. */
interface Entry {
  readonly file: YamlFile;
  readonly path: Path;
  readonly values: DeepPartial<CustomerEntry>;
}

export interface ReadOptions {
  readonly path: string;
  readonly env: Environment;
}

/** What the configuration file says and what it names holds: plain data, so that a thread can send it. */
export interface ConfigFiles {
  /** All problems. After one, the rest is incomplete. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  readonly files: readonly string[];
  readonly values: DeepPartial<Pick<ConfigFile, 'service'>>;
  readonly defaults: ConfigFile['defaults'];
  readonly polling: PollingConfig;
  readonly customers: readonly CustomerFile[];
  /** PEM text of `ca_file`. */
  readonly ca: string | undefined;
}

interface CustomerFile {
  readonly values: DeepPartial<CustomerEntry>;
  readonly secret: SecretText;
}

interface SecretText {
  readonly text: string;
  readonly path: string | undefined;
}

/** The default of `max_requests_per_second` is at least this. */
const MIN_REQUESTS_PER_SECOND = 50;
/** It is higher where the first polls of a start would take longer, but not above the second one. */
const START_SECONDS = 20;
const MAX_REQUESTS_PER_SECOND_AT_START = 200;

const MAX_CUSTOMER_FILES = 10_000;
/** All patterns together. Without it, `/**` takes minutes and all memory. */
const MAX_VISITED_FILES = 100_000;
/** The kernel makes their files, and some have no end. */
const UNSEARCHED_FOLDERS: ReadonlySet<string> = new Set(['/dev', '/proc', '/sys']);

/**
 * Loads the configuration and, if there is one, the web configuration. Throws a ConfigError with the
 * problems of both. `running` is what the web server was started with. With `inThread`, the event loop
 * stands still for a tenth of the time, and 40 MiB more are needed.
 */
export async function loadConfig(
  options: ReadOptions & {
    readonly webPath?: string | undefined;
    readonly running?: WebConfig | undefined;
    readonly inThread?: boolean;
  },
): Promise<LoadedConfig> {
  const { path, env, webPath, inThread = false } = options;
  const read = await (inThread ? readFilesInThread : readFiles)({ path, env: { ...env } });
  const { problems, files, warnings } = read;
  const web =
    webPath === undefined
      ? undefined
      : await loadWebConfig({ ...options, path: webPath }, problems);
  failOn(problems);
  return { config: configOf(read), files, warnings, web };
}

/** Reads 10,000 customers in more than a second, for most of which the event loop stands still. */
export async function readFiles({ path, env }: ReadOptions): Promise<ConfigFiles> {
  const schema = createConfigSchema();
  const loading = new Loading(schema, env);
  const main = await loading.readYaml(path, schema);
  const entries = await readEntries(main, schema.shape.customers.unwrap(), loading);
  // What is left of these sections after a problem is valid.
  const intervals = schema.shape.polling.parse(main.values.polling);
  const polling = {
    intervalMs: milliseconds(intervals.interval),
    reconcileIntervalMs: milliseconds(intervals.reconcile_interval),
    breakdownIntervalMs: milliseconds(intervals.breakdown_interval),
  };
  const defaults = schema.shape.defaults.parse(main.values.defaults);
  checkCustomers(main, entries, loading.formatter);
  checkService(
    main,
    polling,
    requestsPerSecond(
      polling,
      entries.map(({ values }) => values),
    ),
  );
  const customers: CustomerFile[] = [];
  for (const entry of entries) {
    const secret = await readSecret(entry, loading);
    if (secret !== undefined) {
      customers.push({ values: entry.values, secret });
    }
  }
  const { file, values } = main;
  const caFile = ['service', 'ca_file'];
  const ca = await loading.readNamed(file, caFile, values.service?.ca_file, parseCertificates);
  const { problems, warnings, files } = loading;
  return { problems, warnings, files, values, defaults, polling, customers, ca };
}

async function readFilesInThread(options: ReadOptions): Promise<ConfigFiles> {
  const entry = new URL(`./reading-thread${extname(import.meta.url)}`, import.meta.url);
  // What it throws is an event, too.
  const [files] = (await once(new Worker(entry, { workerData: options }), 'message')) as [
    ConfigFiles,
  ];
  // Receiving takes long, too. Connections are served between the first turn and the second.
  await nextTurn();
  await nextTurn();
  return files;
}

/** Of files without a problem, in which nothing is missing. */
function configOf({ values, defaults, polling, customers, ca }: ConfigFiles): Config {
  const entries = customers.map((customer) => customer.values as CustomerEntry);
  const service = values.service as ConfigFile['service'];
  const maxRequestsPerSecond =
    service.max_requests_per_second ?? defaultRequestsPerSecond(polling, entries);
  return {
    service: { ...serviceOf(service, ca), maxRequestsPerSecond },
    polling,
    customers: customers.map(({ secret }, i) =>
      customerOf(entries[i] as CustomerEntry, defaults, secret),
    ),
  };
}

/** The customers of all files. */
async function readEntries(
  main: Loaded<ConfigFile>,
  schema: z.ZodType<CustomerEntry[]>,
  loading: Loading,
): Promise<readonly Entry[]> {
  const lists = [{ file: main.file, path: ['customers'], values: main.values.customers }];
  for (const name of await findCustomerFiles(main)) {
    lists.push({ path: [], ...(await loading.readYaml(name, schema)) });
  }
  return lists.flatMap(({ file, path, values: list }) =>
    (Array.isArray(list) ? list : []).flatMap((values, i) =>
      values === undefined ? [] : [{ file, path: [...path, i], values }],
    ),
  );
}

class TooManyFilesError extends Error {}

/** Returns the files in the order of the patterns and by name. */
async function findCustomerFiles({
  file,
  values,
}: Loaded<ConfigFile>): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const cwd = dirname(file.path);
  let visited = 0;
  /** Called for each file and folder below `**`, and for each folder that another part matches. */
  function exclude(path: string): boolean {
    visited += 1;
    if (visited > MAX_VISITED_FILES) {
      throw new TooManyFilesError();
    }
    return UNSEARCHED_FOLDERS.has(resolve(cwd, path));
  }
  for (const [i, pattern] of (values.customer_files ?? []).entries()) {
    if (pattern === undefined) {
      continue;
    }
    const names: string[] = [];
    try {
      for await (const name of glob(pattern, { cwd, exclude })) {
        names.push(isAbsolute(name) ? name : join(dirname(file.name), name));
        if (names.length > MAX_CUSTOMER_FILES) {
          break;
        }
      }
    } catch (error) {
      if (!(error instanceof TooManyFilesError)) {
        throw error;
      }
      const expected = `expected patterns that search at most ${MAX_VISITED_FILES} files`;
      file.add(['customer_files', i], `${expected}, got more`);
      break;
    }
    if (names.length === 0 || names.length > MAX_CUSTOMER_FILES) {
      const got = names.length === 0 ? 'none' : 'more';
      file.add(['customer_files', i], `expected 1 to ${MAX_CUSTOMER_FILES} files, got ${got}`);
      continue;
    }
    names.toSorted().forEach((name) => found.add(name));
  }
  return found;
}

function checkCustomers(
  { file: main, values: { defaults } }: Loaded<ConfigFile>,
  entries: readonly Entry[],
  formatter: ProblemFormatter,
): void {
  if (entries.length === 0 && main.has([])) {
    main.add(['customers'], 'expected at least one customer, here or in customer_files, got none');
  }
  const hasTimezone = defaults?.timezone !== undefined || main.has(['defaults', 'timezone']);
  const names = new Set<string | undefined>();
  const parseOpeningHours = createOpeningHoursParser();
  for (const { file, path, values } of entries) {
    const { name, timezone, opening_hours: hours = '24/7', holidays } = values;
    const { streams = ['people'], breakdowns = [] } = values;
    if (name !== undefined && names.has(name)) {
      file.add([...path, 'name'], 'expected a unique name, got that of another customer');
    }
    names.add(name);
    const zonePath = [...path, 'timezone'];
    if (!hasTimezone && timezone === undefined && !file.has(zonePath)) {
      file.add(zonePath, 'expected an IANA time zone, here or in defaults, got nothing');
    }
    if (breakdowns.length > 0 && !streams.includes('people')) {
      file.add([...path, 'breakdowns'], 'expected people in streams, which breakdowns are of');
    }
    try {
      // With an invalid region, the hours are checked with another.
      const isInvalid = holidays === undefined && file.has([...path, 'holidays']);
      parseOpeningHours(hours, isInvalid ? 'dk' : holidays);
    } catch (error) {
      const at = [...path, 'opening_hours'];
      // The message may quote the value.
      const isShown = formatter.quote(file, at) !== undefined;
      const expected = "expected OpenStreetMap's syntax, as in Mo-Fr 08:00-20:00";
      file.add(at, isShown ? messageOf(error) : expected);
    }
  }
}

function checkService(
  { file, values }: Loaded<ConfigFile>,
  intervals: PollingConfig,
  needPerSecond: number,
): void {
  const { service = {} } = values;
  for (const key of ['base_url', 'auth_url'] as const) {
    const url = service[key];
    if (url?.startsWith('http:') === true && service.allow_insecure !== true && !isLoopback(url)) {
      file.add(['service', key], 'must use https (or set allow_insecure: true)');
    }
  }
  const proxy = ['service', 'proxy_url'];
  if (file.isExposed && file.has(proxy) && file.textAt(proxy).includes('@')) {
    file.warn(proxy, `a secret in a file that ${EXPOSED}`);
  }
  if (intervals.reconcileIntervalMs < intervals.intervalMs) {
    file.add(['polling', 'reconcile_interval'], 'expected at least interval, got less');
  }
  if ((service.max_requests_per_second ?? Infinity) < needPerSecond) {
    const least = Math.ceil(needPerSecond * 100) / 100;
    const message = `expected at least ${least}, which the customers need, got less`;
    file.add(['service', 'max_requests_per_second'], message);
  }
}

/** Whether a URL leads to this machine, where nobody else can read what is sent. */
function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

function customerOf(
  entry: CustomerEntry,
  defaults: ConfigFile['defaults'],
  secret: SecretText,
): CustomerConfig {
  const [hour = NaN, minute = NaN] = (entry.day_starts_at ?? defaults.day_starts_at)
    .split(':')
    .map(Number);
  return {
    name: entry.name,
    clientId: entry.client_id,
    clientSecret: { secret: new Secret(secret.text), path: secret.path },
    timezone: entry.timezone ?? defaults.timezone ?? '',
    dayStartsAt: { hour, minute },
    estimate: entry.estimate ?? defaults.estimate,
    capacity: entry.capacity,
    openingHours: entry.opening_hours,
    holidays: entry.holidays,
    // Without a prototype, `constructor` is a key only if it was given.
    labels: Object.assign(Object.create(null), entry.labels),
    streams: entry.streams,
    breakdowns: entry.breakdowns,
    branches: Object.assign(Object.create(null), entry.branches),
  };
}

/** Undefined after a problem. */
async function readSecret(
  { file, path, values: { client_secret: inline, client_secret_file: name } }: Entry,
  loading: Loading,
): Promise<SecretText | undefined> {
  const inlinePath = [...path, 'client_secret'];
  const filePath = [...path, 'client_secret_file'];
  const isInline = inline !== undefined || file.has(inlinePath);
  if (isInline === (name !== undefined || file.has(filePath))) {
    const got = isInline ? 'both' : 'neither';
    file.add(filePath, `expected one of client_secret_file and client_secret, got ${got}`);
  }
  if (inline !== undefined) {
    loading.formatter.addSecret(inline);
    if (file.isExposed && !file.textAt(inlinePath).includes('${')) {
      file.warn(inlinePath, `a secret in a file that ${EXPOSED}`);
    }
    return { text: inline, path: undefined };
  }
  return loading.readNamed(
    file,
    filePath,
    name,
    (content, secretPath) => {
      const text = parseSecret(content).reveal();
      loading.formatter.addSecret(text);
      return { text, path: secretPath };
    },
    true,
  );
}

/**
 * The requests that polling needs: one per interval for each stream, two per breakdown interval for each
 * breakdown, one from the start of the counting period and one of the day (docs/how-it-counts.md#rules).
 */
export function requestsPerSecond(
  { intervalMs, breakdownIntervalMs }: PollingConfig,
  customers: readonly DeepPartial<Pick<CustomerEntry, 'streams' | 'breakdowns'>>[],
): number {
  return customers.reduce(
    (sum, { streams = [], breakdowns = [] }) =>
      sum + (streams.length / intervalMs + (2 * breakdowns.length) / breakdownIntervalMs) * 1_000,
    0,
  );
}

/**
 * Twice what polling needs, and more for the first polls of a start: a token, five requests for each
 * stream and two for each breakdown.
 */
function defaultRequestsPerSecond(
  polling: PollingConfig,
  customers: readonly CustomerEntry[],
): number {
  const atStart = customers.reduce(
    (sum, { streams, breakdowns }) => sum + 1 + 5 * streams.length + 2 * breakdowns.length,
    0,
  );
  return Math.max(
    MIN_REQUESTS_PER_SECOND,
    Math.ceil(2 * requestsPerSecond(polling, customers)),
    Math.min(Math.ceil(atStart / START_SECONDS), MAX_REQUESTS_PER_SECOND_AT_START),
  );
}

function serviceOf(
  service: ConfigFile['service'],
  ca: string | undefined,
): Omit<ServiceSettings, 'maxRequestsPerSecond'> {
  return {
    baseUrl: addressOf(service.base_url),
    authUrl: addressOf(service.auth_url),
    scope: service.scope,
    timeoutMs: milliseconds(service.timeout),
    maxConcurrency: service.max_concurrency,
    requestTimes: service.request_times,
    proxyUrl: service.proxy_url && addressOf(service.proxy_url),
    ca,
  };
}

/** Without a slash at the end. */
function addressOf(url: string): string {
  return new URL(url).href.replace(/\/+$/, '');
}
