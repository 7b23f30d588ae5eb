/**
 * Loads the configuration: files and environment in, a complete Config or all problems out. What a single
 * value must be is in schema.ts; checks of several keys together are here.
 */
import { glob } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { z } from 'zod';
import { parseDuration } from '../base/duration.ts';
import { messageOf } from '../base/errors.ts';
import { BREAKDOWNS, MINUTE_STREAMS } from '../base/model.ts';
import { Secret } from '../base/secret.ts';
import { createOpeningHoursParser } from '../counting/opening-hours.ts';
import { Loading } from './loading.ts';
import type { DeepPartial, LoadedFile } from './loading.ts';
import { parseCertificates } from './pem.ts';
import type { Problems } from './problems.ts';
import { exists } from './read-file.ts';
import type { FileContent } from './read-file.ts';
import { createConfigSchema } from './schema.ts';
import type { ConfigFile, CustomerEntry } from './schema.ts';
import { EXPOSED, isExposed, MAX_SECRET_BYTES, parseSecret } from './secret-file.ts';
import type {
  Config,
  CustomerConfig,
  LocalTimeOfDay,
  PollingConfig,
  SecretSource,
} from './types.ts';
import type { Path, YamlSource } from './yaml-source.ts';
import type { Environment } from './yaml-values.ts';

export interface LoadedConfig {
  readonly config: Config;
  /** Every file that was read, absolute: the configuration, customers, secrets, certificates. */
  readonly files: readonly string[];
  /** What works but should be changed, each with its place. */
  readonly warnings: readonly string[];
}

/** The default of `max_requests_per_second` is at least this. */
const MIN_REQUESTS_PER_SECOND = 10;

const MAX_CUSTOMER_FILES = 10_000;
/** A pattern such as /** would search the whole file system. */
const MAX_SEARCHED_PATHS = 200_000;
/** Their files are made by the kernel, and some have no end. */
const UNSEARCHED_FOLDERS: ReadonlySet<string> = new Set(['/dev', '/proc', '/sys']);
const MAX_OPEN_FILES = 32;

/** A customer as it is in a file. */
interface Entry {
  readonly file: LoadedFile<unknown>;
  readonly path: Path;
  /** What is valid of it. */
  readonly partial: DeepPartial<CustomerEntry>;
  /** Undefined after a problem in its file. */
  readonly values: CustomerEntry | undefined;
}

/** Loads the whole configuration. Throws a ConfigError with all problems. */
export async function loadConfig(options: {
  readonly path: string;
  readonly env: Environment;
}): Promise<LoadedConfig> {
  const schema = createConfigSchema();
  const loading = new Loading(schema, options.env);
  const main = await loading.readYaml(options.path, schema);
  if (main === undefined) {
    loading.problems.throwIfAny();
    throw new Error('unreachable: a file that cannot be read is a problem');
  }
  const entries = [
    ...entriesOf(main, ['customers'], main.partial.customers, main.values?.customers),
    ...(await readCustomerFiles(main, schema.shape.customers.unwrap(), loading)),
  ];
  checkThatThereAreCustomers(main, entries, loading);
  checkNames(entries, loading);
  checkTimezones(main, entries, loading);
  checkOpeningHours(entries, loading);
  checkBreakdowns(entries, loading);
  const secrets = await readSecrets(entries, loading);
  checkService(main, entries, loading);
  const ca = await readCa(main, loading);
  warnOfExposedFiles(main, entries, loading);
  loading.problems.throwIfAny();
  return {
    config: configOf(main, entries, secrets, ca),
    files: [...loading.files],
    warnings: loading.problems.warnings,
  };
}

function entriesOf(
  file: LoadedFile<unknown>,
  path: Path,
  partial: DeepPartial<readonly CustomerEntry[]> | undefined,
  values: readonly CustomerEntry[] | undefined,
): readonly Entry[] {
  return (Array.isArray(partial) ? partial : []).flatMap((one, i) =>
    one === undefined || one === null
      ? []
      : [{ file, path: [...path, i], partial: one, values: values?.[i] }],
  );
}

async function readCustomerFiles(
  main: LoadedFile<ConfigFile>,
  schema: z.ZodType<CustomerEntry[]>,
  loading: Loading,
): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (const [path, name] of await findCustomerFiles(main, loading)) {
    const file = await loading.readYaml(name, schema, path);
    if (file !== undefined) {
      entries.push(...entriesOf(file, [], file.partial, file.values));
    }
  }
  return entries;
}

/** Absolute paths, each with the name to show, in the order of the patterns and by name. */
async function findCustomerFiles(
  { source, partial }: LoadedFile<ConfigFile>,
  { problems }: Loading,
): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  const folder = dirname(source.path);
  for (const [i, pattern = ''] of (partial.customer_files ?? []).entries()) {
    const path = ['customer_files', i];
    const found = problems.has(source, path) ? [] : await findFiles(pattern, folder);
    if (typeof found === 'string') {
      problems.add(source, path, found);
      continue;
    }
    for (const file of found) {
      const name = isAbsolute(file) ? file : join(dirname(source.name), file);
      files.set(resolve(folder, file), name);
    }
    if (found.length === 0 && !problems.has(source, path)) {
      problems.add(source, path, 'expected an existing file, got none that matches');
    }
    if (files.delete(source.path)) {
      problems.add(source, path, 'expected customer files, got this file itself');
    }
  }
  return files;
}

/** Returns what is wrong with the pattern as text. */
async function findFiles(pattern: string, folder: string): Promise<readonly string[] | string> {
  if (!/[*?[{]/.test(pattern)) {
    return (await exists(resolve(folder, pattern))) ? [pattern] : [];
  }
  let searched = 0;
  function exclude(path: string): boolean {
    searched += 1;
    return searched > MAX_SEARCHED_PATHS || UNSEARCHED_FOLDERS.has(resolve(folder, path));
  }
  const files: string[] = [];
  for await (const file of glob(pattern, { cwd: folder, exclude })) {
    files.push(file);
    if (files.length > MAX_CUSTOMER_FILES || searched > MAX_SEARCHED_PATHS) {
      break;
    }
  }
  return searched > MAX_SEARCHED_PATHS
    ? `expected a narrower pattern, got one that searches more than ${MAX_SEARCHED_PATHS} paths`
    : files.length > MAX_CUSTOMER_FILES
      ? `expected at most ${MAX_CUSTOMER_FILES} files, got more`
      : files.toSorted();
}

function checkThatThereAreCustomers(
  { source }: LoadedFile<ConfigFile>,
  entries: readonly Entry[],
  { problems }: Loading,
): void {
  const keys = ['customers', 'customer_files'] as const;
  const [given] = keys.filter((key) => source.has([key]) || problems.has(source, [key]));
  const isMapping = !problems.has(source, []);
  if (isMapping && (given === undefined || (entries.length === 0 && problems.count === 0))) {
    const message = 'expected at least one customer, here or in customer_files, got none';
    problems.add(source, ['customers'], message, source.locate([given ?? 'customers']));
  }
}

function checkNames(entries: readonly Entry[], { problems }: Loading): void {
  const first = new Map<string, Entry>();
  for (const entry of entries) {
    const { name } = entry.partial;
    const other = name === undefined ? undefined : first.get(name);
    if (name === undefined || other === undefined) {
      first.set(name ?? '', entry);
      continue;
    }
    const { source } = other.file;
    const { line } = source.position(source.locate([...other.path, 'name']).start);
    const message = `expected a unique name, got that of the customer in ${source.name}:${line}`;
    problems.add(entry.file.source, [...entry.path, 'name'], message);
  }
}

function checkTimezones(
  main: LoadedFile<ConfigFile>,
  entries: readonly Entry[],
  { problems }: Loading,
): void {
  function isGiven({ source }: LoadedFile<unknown>, path: Path): boolean {
    return source.has(path) || problems.has(source, path);
  }
  if (isGiven(main, ['defaults', 'timezone']) || problems.has(main.source, ['defaults'])) {
    return;
  }
  for (const { file, path, partial } of entries) {
    const at = [...path, 'timezone'];
    if (partial.timezone === undefined && !isGiven(file, at)) {
      const expected = 'expected an IANA time zone such as Europe/Copenhagen';
      problems.add(file.source, at, `${expected}, here or in defaults, got nothing`);
    }
  }
}

function checkOpeningHours(entries: readonly Entry[], { problems }: Loading): void {
  const parse = createOpeningHoursParser();
  for (const { file, path, partial } of entries) {
    const at = [...path, 'opening_hours'];
    if (partial.opening_hours === undefined || problems.has(file.source, at)) {
      continue;
    }
    // With an invalid region, the hours are checked with another.
    const isInvalid = problems.has(file.source, [...path, 'holidays']);
    try {
      parse(partial.opening_hours, isInvalid ? 'dk' : partial.holidays);
    } catch (error) {
      // The message may quote the value.
      const isShown = problems.quote(file.source, at) !== undefined;
      const expected = "expected OpenStreetMap's syntax, as in Mo-Fr 08:00-20:00";
      problems.add(file.source, at, isShown ? messageOf(error) : expected);
    }
  }
}

function checkBreakdowns(entries: readonly Entry[], { problems }: Loading): void {
  for (const { file, path, partial } of entries) {
    const { streams = [], breakdowns = [] } = partial;
    if (breakdowns.length > 0 && streams.length > 0 && !streams.includes('people')) {
      const message = 'expected people in streams: breakdowns are breakdowns of people';
      problems.add(file.source, [...path, 'breakdowns'], message);
    }
  }
}

/** The secrets that could be read, by customer. */
async function readSecrets(
  entries: readonly Entry[],
  loading: Loading,
): Promise<ReadonlyMap<Entry, SecretSource>> {
  const secrets = new Map<Entry, SecretSource>();
  for (const { partial } of entries) {
    loading.problems.addSecret(partial.client_secret ?? '');
  }
  const queue = entries.values();
  async function work(): Promise<void> {
    for (const entry of queue) {
      const secret = await readSecret(entry, loading);
      if (secret !== undefined) {
        secrets.set(entry, secret);
      }
    }
  }
  await Promise.all(Array.from({ length: MAX_OPEN_FILES }, work));
  return secrets;
}

async function readSecret(
  { file: { source }, path, partial }: Entry,
  loading: Loading,
): Promise<SecretSource | undefined> {
  const { client_secret: inline, client_secret_file: file } = partial;
  const { problems } = loading;
  const at = [...path, 'client_secret_file'];
  if ((inline === undefined) === (file === undefined)) {
    checkOneSecret(source, path, problems);
  }
  if (file === undefined) {
    return inline === undefined ? undefined : { secret: new Secret(inline), path: undefined };
  }
  const read = await loading.readNamed(source, at, file, parseSecretFile, MAX_SECRET_BYTES);
  if (read === undefined) {
    return undefined;
  }
  const { secret, content } = read;
  problems.addSecret(secret.reveal());
  if (secret.reveal().includes('\n')) {
    problems.warn(source, at, 'the file has several lines, expected the secret alone');
  }
  if (isExposed(content)) {
    problems.warn(source, at, `the file ${EXPOSED}`);
  }
  return { secret, path: resolve(dirname(source.path), file) };
}

function parseSecretFile(content: FileContent): { secret: Secret; content: FileContent } {
  return { secret: parseSecret(content), content };
}

function checkOneSecret(source: YamlSource, path: Path, problems: Problems): void {
  const given = ['client_secret', 'client_secret_file'].filter(
    (key) => source.has([...path, key]) || problems.has(source, [...path, key]),
  );
  if (given.length !== 1) {
    const got = given.length === 0 ? 'neither' : 'both';
    const message = `expected one of client_secret_file and client_secret, got ${got}`;
    problems.add(source, [...path, 'client_secret_file'], message);
  }
}

function checkService(
  { source, partial }: LoadedFile<ConfigFile>,
  entries: readonly Entry[],
  { problems }: Loading,
): void {
  const { service = {}, polling = {} } = partial;
  for (const key of ['base_url', 'auth_url'] as const) {
    const url = service[key];
    if (url?.startsWith('http:') === true && service.allow_insecure !== true && !isLoopback(url)) {
      problems.add(source, ['service', key], 'must use https (or set allow_insecure: true)');
    }
  }
  const intervals = pollingOf(polling);
  if (intervals.reconcileIntervalMs < intervals.intervalMs) {
    const message = 'expected at least as much as interval, got less';
    problems.add(source, ['polling', 'reconcile_interval'], message);
  }
  const need = requestsPerSecond(intervals, entries.map(streamsOf));
  const limit = service.max_requests_per_second;
  if (limit !== undefined && limit < need) {
    const least = Math.ceil(need * 100) / 100;
    const message = `expected at least ${least}, which the customers need, got less`;
    problems.add(source, ['service', 'max_requests_per_second'], message);
  }
}

/** Whether a URL leads to this machine, where nobody else can read what is sent. */
function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

/**
 * The requests that polling needs: one per interval for each stream, two per breakdown interval for each
 * breakdown, one from the start of the counting period and one of the day (DESIGN.md, 3).
 */
export function requestsPerSecond(
  polling: PollingConfig,
  customers: readonly Pick<CustomerConfig, 'streams' | 'breakdowns'>[],
): number {
  const streams = customers.reduce((sum, customer) => sum + customer.streams.length, 0);
  const breakdowns = customers.reduce((sum, customer) => sum + customer.breakdowns.length, 0);
  return (
    (streams * 1_000) / polling.intervalMs + (2 * breakdowns * 1_000) / polling.breakdownIntervalMs
  );
}

function streamsOf({ partial }: Entry): Pick<CustomerConfig, 'streams' | 'breakdowns'> {
  const { streams = [], breakdowns = [] } = partial;
  return {
    streams: streams.filter((stream) => stream !== undefined),
    breakdowns: breakdowns.filter((breakdown) => breakdown !== undefined),
  };
}

async function readCa(
  { source, partial }: LoadedFile<ConfigFile>,
  loading: Loading,
): Promise<string | undefined> {
  const file = partial.service?.ca_file;
  const path = ['service', 'ca_file'];
  const certificates = file && (await loading.readNamed(source, path, file, parseCertificates));
  return certificates ? certificates.text : undefined;
}

/** Of the files that hold secrets themselves. Those that are only secrets are checked when read. */
function warnOfExposedFiles(
  main: LoadedFile<ConfigFile>,
  entries: readonly Entry[],
  { problems }: Loading,
): void {
  const proxy = main.partial.service?.proxy_url;
  const secrets = [
    ...(proxy === undefined || new URL(proxy).password === ''
      ? []
      : [{ file: main, path: ['service', 'proxy_url'] }]),
    ...entries
      .filter(({ partial }) => partial.client_secret !== undefined)
      .map(({ file, path }) => ({ file, path: [...path, 'client_secret'] })),
  ];
  const warned = new Set<YamlSource>();
  for (const { file, path } of secrets) {
    const { source, content } = file;
    if (!warned.has(source) && isExposed(content) && !source.textAt(path).includes('${')) {
      warned.add(source);
      problems.warn(source, path, `a secret in a file that ${EXPOSED}`);
    }
  }
}

function configOf(
  { values }: LoadedFile<ConfigFile>,
  entries: readonly Entry[],
  secrets: ReadonlyMap<Entry, SecretSource>,
  ca: string | undefined,
): Config {
  if (values === undefined) {
    throw new Error('unreachable: without values there is a problem');
  }
  const polling = pollingOf(values.polling);
  const customers = entries.flatMap((entry) => {
    const secret = secrets.get(entry);
    return entry.values === undefined || secret === undefined
      ? []
      : [customerOf(entry.values, secret, values.defaults)];
  });
  const need = requestsPerSecond(polling, customers);
  const { service } = values;
  return {
    service: {
      baseUrl: addressOf(service.base_url),
      authUrl: addressOf(service.auth_url),
      scope: service.scope,
      timeoutMs: milliseconds(service.timeout),
      maxConcurrency: service.max_concurrency,
      maxRequestsPerSecond:
        service.max_requests_per_second ?? Math.max(MIN_REQUESTS_PER_SECOND, Math.ceil(2 * need)),
      allowInsecure: service.allow_insecure,
      proxyUrl: service.proxy_url && new URL(service.proxy_url).href.replace(/\/$/, ''),
      ca,
    },
    polling,
    customers,
  };
}

function customerOf(
  entry: CustomerEntry,
  clientSecret: SecretSource,
  defaults: ConfigFile['defaults'],
): CustomerConfig {
  return {
    name: entry.name,
    clientId: entry.client_id,
    clientSecret,
    timezone: entry.timezone ?? defaults.timezone ?? '',
    dayStartsAt: timeOf(entry.day_starts_at ?? defaults.day_starts_at),
    estimate: entry.estimate ?? defaults.estimate,
    capacity: entry.capacity,
    openingHours: entry.opening_hours,
    holidays: entry.holidays,
    labels: withoutPrototype(entry.labels),
    streams: MINUTE_STREAMS.filter((stream) => entry.streams.includes(stream)),
    breakdowns: BREAKDOWNS.filter((breakdown) => entry.breakdowns.includes(breakdown)),
    branches: withoutPrototype(entry.branches),
  };
}

/** Its keys are all there is: `constructor` is none unless it was given. */
function withoutPrototype(record: Readonly<Record<string, string>>): Record<string, string> {
  return Object.assign(Object.create(null), record);
}

function pollingOf(polling: DeepPartial<ConfigFile['polling']>): PollingConfig {
  return {
    intervalMs: milliseconds(polling.interval ?? '60s'),
    reconcileIntervalMs: milliseconds(polling.reconcile_interval ?? '1h'),
    breakdownIntervalMs: milliseconds(polling.breakdown_interval ?? '5m'),
  };
}

function milliseconds(duration: string): number {
  return parseDuration(duration) ?? 0;
}

function timeOf(text: string): LocalTimeOfDay {
  const [hour, minute] = text.split(':').map(Number);
  return { hour: hour ?? 0, minute: minute ?? 0 };
}

function addressOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`.replace(/\/+$/, '');
}
