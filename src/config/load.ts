/** Loads the configuration: files and environment in, a complete Config or all problems out. */
import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { stringify } from 'yaml';
import { nextTurn } from '../base/clock.ts';
import type { FileContent } from '../base/files.ts';
import { pastedWith, Secret } from '../base/secret.ts';
import type { WebConfig } from '../base/web-config.ts';
import { parseCertificates, parseSecret } from './credentials.ts';
import { SchemaKeys } from './problems.ts';
import type { ProblemFormatter } from './problems.ts';
import { ConfigReader, failOn, findCustomerFiles } from './reader.ts';
import type { LoadResult } from './reader.ts';
import { CONFIG, CUSTOMER } from './schema.ts';
import type { ConfigFile, CustomerEntry } from './schema.ts';
import type { BranchConfig, Config, CustomerConfig, PollingConfig } from './types.ts';
import { isMapping, milliseconds } from './values.ts';
import { loadWebConfig } from './web.ts';
import type { Path, Place, YamlFile } from './yaml-file.ts';

export interface LoadedConfig extends LoadResult<Config> {
  /** The main file, absolute. */
  readonly path: string;
  /** The configuration as YAML, without secrets. */
  readonly shown: string;
  /** The web configuration; undefined without a file of it. */
  readonly web?: LoadResult<WebConfig> | undefined;
}

export interface ReadOptions {
  readonly path: string;
  readonly env: NodeJS.ProcessEnv;
}

/** What the files say: plain data, so that a thread can send it. After a problem, it is incomplete. */
type ConfigFiles = Awaited<ReturnType<typeof readFiles>>;
type SecretText = Exclude<Awaited<ReturnType<typeof readSecret>>, undefined>;

type Polled = Pick<CustomerConfig, 'streams' | 'breakdowns'>;

interface PlacedCustomer extends Place {
  readonly values: CustomerEntry;
  readonly secret: SecretText | undefined;
}

const KEYS = new SchemaKeys(CONFIG, CUSTOMER);
const MIN_REQUESTS_PER_SECOND = 50;
/** The default is higher where the first polls of a start would take longer, but not above the second one. */
const START_SECONDS = 20;
const MAX_REQUESTS_PER_SECOND_AT_START = 200;

/**
 * Loads the configuration and, if there is one, the web configuration. Throws a ConfigError with the problems
 * of both. `running` is what the web server was started with. With `inThread`, the event loop stands still for
 * a tenth of the time.
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
  const { problems, digest, warnings } = read;
  const web =
    webPath === undefined
      ? undefined
      : await loadWebConfig({ ...options, path: webPath }, problems);
  failOn(problems);
  const config = configOf(read);
  if (inThread) {
    // What follows takes as long for many customers. Connections are served in between.
    await nextTurn();
    await nextTurn();
  }
  return { config, digest, warnings, path: read.path, shown: read.shown, web };
}

/** Reads 10,000 customers in more than a second, for most of which the event loop stands still. */
export async function readFiles({ path, env }: ReadOptions) {
  const reader = new ConfigReader(env, KEYS);
  const main = await reader.readYaml(path);
  const values = reader.validate(CONFIG, { file: main, path: [] });
  const lists: Place[] = [{ file: main, path: ['customers'] }];
  const patterns = CONFIG.shape.customer_files.safeParse(main.valueAt(['customer_files']));
  for (const name of await findCustomerFiles(main, patterns.data ?? [])) {
    const list = { file: await reader.readYaml(name), path: [] };
    reader.validate(CONFIG.shape.customers, list);
    lists.push(list);
  }
  const places = lists.flatMap((list) => {
    const items = list.file.valueAt(list.path);
    return Array.isArray(items) ? items.map((_, i) => ({ ...list, path: [...list.path, i] })) : [];
  });
  if (places.length === 0 && lists.every(({ file }) => file.value !== undefined)) {
    main.add(['customers'], 'expected at least one customer, here or in customer_files, got none');
  }
  const placed: PlacedCustomer[] = [];
  for (const place of places) {
    const customer = reader.validate(CUSTOMER, place);
    const secret = await readSecret(place, reader);
    placed.push(...(customer === undefined ? [] : [{ ...place, values: customer, secret }]));
  }
  const ca = await reader.readNamed(main, ['service', 'ca_file'], parseCertificates);
  const polling = CONFIG.shape.polling.safeParse(main.valueAt(['polling'])).data;
  checkTogether(main, polling, places, placed);
  if (values?.service.proxy_url?.includes('@') === true) {
    main.warnOfSecrets(['service', 'proxy_url'], 'a secret');
  }
  warnOfMistakes(placed, reader.formatter);
  const { problems, warnings, digest, formatter } = reader;
  const shown = problems.length > 0 ? '' : shownConfig(main, values, placed, formatter);
  const customers = placed.map(({ values: customer, secret }) => ({ ...customer, secret }));
  return { problems, warnings, digest, path: main.path, shown, values, customers, ca };
}

/** Returns the configuration as YAML, with defaults and with the customers of all files. */
function shownConfig(
  main: YamlFile,
  values: ConfigFile | undefined,
  placed: readonly PlacedCustomer[],
  formatter: ProblemFormatter,
): string {
  const sections = formatter.show({ ...values, customers: undefined }, main, []);
  // A line of JSON, which is YAML, for each customer: of 10,000 it takes a twentieth of the time.
  const customers = placed.map((one) => formatter.show(one.values, one.file, one.path));
  const lines = customers.map((customer) => `  - ${JSON.stringify(customer)}\n`);
  return `${stringify(sections)}customers:\n${lines.join('')}`;
}

async function readFilesInThread(options: ReadOptions): Promise<ConfigFiles> {
  const entry = new URL(`./reading-thread${extname(import.meta.url)}`, import.meta.url);
  // What it throws is an event, too.
  const [files] = await once(new Worker(entry, { workerData: options }), 'message');
  // Receiving takes long, too. Connections are served between the first turn and the second.
  await nextTurn();
  await nextTurn();
  return files as ConfigFiles;
}

/** Reports names that are used twice, missing time zones, and too low a limit on requests. */
function checkTogether(
  main: YamlFile,
  polling: ConfigFile['polling'] | undefined,
  places: readonly Place[],
  placed: readonly PlacedCustomer[],
): void {
  const defaultTimezone = main.valueAt(['defaults', 'timezone']);
  const names = new Set<string>();
  for (const { file, path } of places) {
    const value = file.valueAt([...path, 'name']);
    const name = typeof value === 'string' ? value.trim().normalize('NFC') : '';
    if (name !== '' && names.has(name)) {
      file.add([...path, 'name'], 'expected a unique name, got that of another customer');
    }
    names.add(name);
    const timezone = file.valueAt([...path, 'timezone']) ?? defaultTimezone;
    if (timezone === undefined && isMapping(file.valueAt(path))) {
      const message = 'expected an IANA time zone, here or in defaults, got nothing';
      file.add([...path, 'timezone'], message);
    }
  }
  const customers = placed.map((one) => one.values);
  const needed = polling ? requestsPerSecond(pollingOf({ polling }), customers) : 0;
  if (needed > Number(main.valueAt(['service', 'max_requests_per_second']))) {
    const least = Math.ceil(needed * 100) / 100;
    const message = `expected at least ${least}, which the customers need, got less`;
    main.add(['service', 'max_requests_per_second'], message);
  }
}

/** Warns of comments in opening hours, and of customers with one client id: both would count the same people. */
function warnOfMistakes(placed: readonly PlacedCustomer[], formatter: ProblemFormatter): void {
  const byClientId = new Map<string, string | undefined>();
  for (const { file, path, values } of placed) {
    const { client_id: id, branches } = values;
    const name = formatter.quote(file, [...path, 'name']);
    if (byClientId.has(id)) {
      const other = byClientId.get(id) ?? 'another customer';
      const message = `${name ?? 'this customer'} has the client_id of ${other}, so both count the same people`;
      file.warn([...path, 'client_id'], message);
    } else {
      byClientId.set(id, name);
    }
    const buildings = Object.keys(branches).map((key) => ['branches', key]);
    for (const building of [[], ...buildings]) {
      const hours = [...path, ...building, 'opening_hours'];
      if (/"[^"]+"/.test(String(file.valueAt(hours)))) {
        file.warn(hours, 'the comment is ignored; write hours with staff as staffed_hours');
      }
    }
  }
}

/** Returns the secret as it is now, and the path of its file; undefined after a problem. */
async function readSecret({ file, path }: Place, reader: ConfigReader) {
  function noted(text: string, at: Path, secretPath?: string) {
    reader.formatter.addSecret(text);
    const problem = pastedWith(new Secret(text));
    if (problem !== undefined) {
      file.warn(at, `${problem}, which is probably no part of it`);
    }
    return { text, path: secretPath };
  }
  const inlinePath = [...path, 'client_secret'];
  const inline = file.valueAt(inlinePath);
  const filePath = [...path, 'client_secret_file'];
  if (typeof inline !== 'string') {
    function parse(content: FileContent, secretPath: string) {
      return noted(parseSecret(content).reveal(), filePath, secretPath);
    }
    return reader.readNamed(file, filePath, parse, true);
  }
  file.warnOfSecrets(inlinePath, 'a secret');
  if (file.isCutByComment(inlinePath)) {
    file.warn(inlinePath, 'the secret ends before #, which begins a comment: write it in quotes');
  }
  return noted(inline, inlinePath);
}

/** Returns the configuration in files without a problem. */
function configOf({ values, customers, ca }: ConfigFiles): Config {
  const { service, defaults, ...sections } = values as ConfigFile;
  const polling = pollingOf(sections);
  return {
    service: {
      baseUrl: addressOf(service.base_url),
      authUrl: addressOf(service.auth_url),
      scope: service.scope,
      timeoutMs: milliseconds(service.timeout),
      maxConcurrency: service.max_concurrency,
      maxRequestsPerSecond:
        service.max_requests_per_second ?? defaultRequestsPerSecond(polling, customers),
      requestTimes: service.request_times,
      keyTimes: service.key_times,
      proxyUrl: service.proxy_url && addressOf(service.proxy_url),
      ca,
    },
    polling,
    customers: customers.map((customer) => customerOf(customer, defaults)),
  };
}

function pollingOf({ polling }: Pick<ConfigFile, 'polling'>): PollingConfig {
  return {
    intervalMs: milliseconds(polling.interval),
    reconcileIntervalMs: milliseconds(polling.reconcile_interval),
    breakdownIntervalMs: milliseconds(polling.breakdown_interval),
  };
}

/** Returns a customer with all defaults. */
function customerOf(
  { secret, ...values }: ConfigFiles['customers'][number],
  defaults: ConfigFile['defaults'],
): CustomerConfig {
  const { text, path } = secret as SecretText;
  const dayStartsAt = values.day_starts_at ?? defaults.day_starts_at;
  const building = buildingOf(values, { estimate: defaults.estimate });
  const branches = Object.entries(values.branches);
  return {
    ...building,
    name: values.name,
    clientId: values.client_id,
    clientSecret: { secret: new Secret(text), path },
    timezone: values.timezone ?? defaults.timezone ?? '',
    dayStartsAt: { hour: Number(dayStartsAt.slice(0, 2)), minute: Number(dayStartsAt.slice(3)) },
    labels: withoutPrototype(Object.entries(values.labels)),
    streams: values.streams,
    breakdowns: values.breakdowns,
    branches: withoutPrototype(branches.map(([id, own]) => [id, buildingOf(own, building)])),
  };
}

/** Returns an object that has `constructor` as a key only if it was given. */
function withoutPrototype<Value>(entries: readonly (readonly [string, Value])[]) {
  return Object.assign(Object.create(null), Object.fromEntries(entries)) as Record<string, Value>;
}

/** Returns what a customer or a branch says; what it does not say but its name and capacity is as `outer` says. */
function buildingOf(
  own: CustomerEntry | CustomerEntry['branches'][string],
  outer: Partial<BranchConfig> & Pick<BranchConfig, 'estimate'>,
): BranchConfig {
  return {
    name: own.name,
    capacity: own.capacity,
    estimate: own.estimate ?? outer.estimate,
    openingHours: own.opening_hours ?? outer.openingHours,
    staffedHours: own.staffed_hours ?? outer.staffedHours,
    holidays: own.holidays ?? outer.holidays,
  };
}

/**
 * Returns the requests per second that polling needs: one per interval for each stream, and two per
 * breakdown interval for each breakdown: one from the start of the counting period and one of the day
 * (docs/how-it-counts.md#rules). The windows of branches need one more per interval.
 */
export function requestsPerSecond(
  { intervalMs, breakdownIntervalMs }: PollingConfig,
  customers: readonly Polled[],
): number {
  return customers.reduce((sum, { streams, breakdowns }) => {
    const perInterval = streams.length + (breakdowns.includes('branch') ? 1 : 0);
    const perBreakdownInterval = 2 * breakdowns.length;
    return sum + (perInterval / intervalMs + perBreakdownInterval / breakdownIntervalMs) * 1_000;
  }, 0);
}

/** Returns twice what polling needs; more for a start: a token, five per stream and two per breakdown. */
function defaultRequestsPerSecond(polling: PollingConfig, customers: readonly Polled[]) {
  function requestsAtStart({ streams, breakdowns }: Polled): number {
    return 1 + 5 * streams.length + 2 * breakdowns.length;
  }
  const atStart = customers.reduce((sum, customer) => sum + requestsAtStart(customer), 0);
  return Math.max(
    MIN_REQUESTS_PER_SECOND,
    Math.ceil(2 * requestsPerSecond(polling, customers)),
    Math.min(Math.ceil(atStart / START_SECONDS), MAX_REQUESTS_PER_SECOND_AT_START),
  );
}

/** Returns a URL in its normal form, without a slash at the end. */
function addressOf(url: string): string {
  return new URL(url).href.replace(/\/+$/, '');
}
