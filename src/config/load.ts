/**
 * Loads the configuration: files and environment in, a complete Config or all problems out. Keys that
 * depend on each other are checked after a problem, too, with what is valid.
 */
import { glob } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { z } from 'zod';
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
import type { Config, CustomerConfig, PollingConfig, SecretSource } from './types.ts';
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

/** The default of `max_requests_per_second` is at least this. */
const MIN_REQUESTS_PER_SECOND = 10;

const MAX_CUSTOMER_FILES = 10_000;
/** All patterns together. Without it, `/**` takes minutes and all memory. */
const MAX_VISITED_FILES = 100_000;
/** The kernel makes their files, and some have no end. */
const UNSEARCHED_FOLDERS: ReadonlySet<string> = new Set(['/dev', '/proc', '/sys']);

/**
 * Loads the configuration and, if there is one, the web configuration. Throws a ConfigError with the
 * problems of both. `running` is what the web server was started with.
 */
export async function loadConfig(options: {
  readonly path: string;
  readonly webPath?: string | undefined;
  readonly env: Environment;
  readonly running?: WebConfig | undefined;
}): Promise<LoadedConfig> {
  const { path, webPath, env } = options;
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
  const needPerSecond = requestsPerSecond(
    polling,
    entries.map(({ values }) => values),
  );
  checkCustomers(main, entries, loading.formatter);
  checkService(main, polling, needPerSecond);
  const customers: CustomerConfig[] = [];
  for (const entry of entries) {
    const clientSecret = await readSecret(entry, loading);
    if (clientSecret !== undefined) {
      customers.push(customerOf(entry.values as CustomerEntry, defaults, clientSecret));
    }
  }
  const { file, values } = main;
  const caFile = ['service', 'ca_file'];
  const ca = await loading.readNamed(file, caFile, values.service?.ca_file, parseCertificates);
  const web =
    webPath === undefined
      ? undefined
      : await loadWebConfig({ ...options, path: webPath }, loading.problems);
  failOn(loading.problems);
  // Without a problem, nothing is missing.
  const service = serviceOf(values.service as ConfigFile['service'], ca, needPerSecond);
  const config = { service, polling, customers };
  return { ...loading.result(config), web };
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

/** Incomplete after a problem. */
function customerOf(
  entry: CustomerEntry,
  defaults: ConfigFile['defaults'],
  clientSecret: SecretSource,
): CustomerConfig {
  const [hour = NaN, minute = NaN] = (entry.day_starts_at ?? defaults.day_starts_at)
    .split(':')
    .map(Number);
  return {
    name: entry.name,
    clientId: entry.client_id,
    clientSecret,
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
): Promise<SecretSource | undefined> {
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
    return { secret: new Secret(inline), path: undefined };
  }
  return loading.readNamed(
    file,
    filePath,
    name,
    (content, secretPath) => {
      const secret = parseSecret(content);
      loading.formatter.addSecret(secret.reveal());
      return { secret, path: secretPath };
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

function serviceOf(
  service: ConfigFile['service'],
  ca: string | undefined,
  needPerSecond: number,
): ServiceSettings {
  return {
    baseUrl: addressOf(service.base_url),
    authUrl: addressOf(service.auth_url),
    scope: service.scope,
    timeoutMs: milliseconds(service.timeout),
    maxConcurrency: service.max_concurrency,
    maxRequestsPerSecond:
      service.max_requests_per_second ??
      Math.max(MIN_REQUESTS_PER_SECOND, Math.ceil(2 * needPerSecond)),
    proxyUrl: service.proxy_url && addressOf(service.proxy_url),
    ca,
  };
}

/** Without a slash at the end. */
function addressOf(url: string): string {
  return new URL(url).href.replace(/\/+$/, '');
}
