/**
 * Loads the configuration: files and environment in, a complete Config or all problems out. Keys that
 * depend on each other are checked after a problem, too, with what is valid.
 */
import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { z } from 'zod';
import { nextTurn } from '../base/clock.ts';
import { pastedWith, Secret } from '../base/secret.ts';
import type { WebConfig } from '../base/web-config.ts';
import { checkCustomers, checkService } from './checks.ts';
import type { CustomerFileEntry } from './checks.ts';
import { findCustomerFiles } from './customer-files.ts';
import { parseCertificates, parseSecret } from './credentials.ts';
import { ConfigReader, failOn } from './reader.ts';
import type { DeepPartial, LoadResult, ValidatedFile } from './reader.ts';
import { createConfigSchema } from './schema.ts';
import type { ConfigFile, CustomerEntry } from './schema.ts';
import { showConfig } from './shown.ts';
import type { BranchConfig, Config, CustomerConfig, PollingConfig } from './types.ts';
import { milliseconds } from './values.ts';
import type { Path, YamlFile } from './yaml-file.ts';
import { loadWebConfig } from './web.ts';

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

/** What the configuration file says and what it names holds: plain data, so that a thread can send it. */
export interface ConfigFiles {
  /** All problems. After one, the rest is incomplete. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
  readonly digest: string;
  /** Path of the main file, absolute. */
  readonly path: string;
  readonly shown: string;
  readonly values: DeepPartial<Pick<ConfigFile, 'service'>>;
  readonly defaults: ConfigFile['defaults'];
  readonly polling: PollingConfig;
  readonly customers: readonly CustomerFile[];
  /** PEM text of `ca_file`. */
  readonly ca: string | undefined;
}

interface CustomerFile {
  readonly values: DeepPartial<CustomerEntry>;
  readonly secret: SecretText | undefined;
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
export async function readFiles({ path, env }: ReadOptions): Promise<ConfigFiles> {
  const schema = createConfigSchema();
  const reader = new ConfigReader(schema, env);
  const main = await reader.readYaml(path, schema);
  const entries = await readEntries(main, schema.shape.customers.unwrap(), reader);
  // What is left of these sections after a problem is valid.
  const intervals = schema.shape.polling.parse(main.values.polling);
  const polling = {
    intervalMs: milliseconds(intervals.interval),
    reconcileIntervalMs: milliseconds(intervals.reconcile_interval),
    breakdownIntervalMs: milliseconds(intervals.breakdown_interval),
  };
  const defaults = schema.shape.defaults.parse(main.values.defaults);
  checkCustomers(main, entries, reader.formatter);
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
    customers.push({ values: entry.values, secret: await readSecret(entry, reader) });
  }
  const { file, values } = main;
  const caFile = ['service', 'ca_file'];
  const ca = await reader.readNamed(file, caFile, values.service?.ca_file, parseCertificates);
  const { problems, warnings, digest } = reader;
  const shown = problems.length > 0 ? '' : showConfig(main, entries, schema, reader.formatter);
  return {
    problems,
    shown,
    warnings,
    digest,
    path: file.path,
    values,
    defaults,
    polling,
    customers,
    ca,
  };
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

/** Returns the configuration in files without a problem, in which nothing is missing. */
function configOf({ values, defaults, polling, customers, ca }: ConfigFiles): Config {
  const entries = customers.map((customer) => customer.values as CustomerEntry);
  const service = values.service as ConfigFile['service'];
  return {
    service: {
      baseUrl: addressOf(service.base_url),
      authUrl: addressOf(service.auth_url),
      scope: service.scope,
      timeoutMs: milliseconds(service.timeout),
      maxConcurrency: service.max_concurrency,
      maxRequestsPerSecond:
        service.max_requests_per_second ?? defaultRequestsPerSecond(polling, entries),
      requestTimes: service.request_times,
      keyTimes: service.key_times,
      proxyUrl: service.proxy_url && addressOf(service.proxy_url),
      ca,
    },
    polling,
    customers: customers.map(({ secret }, i) =>
      customerOf(entries[i] as CustomerEntry, defaults, secret as SecretText),
    ),
  };
}

/** Returns the customers of all files, those of the main file first. */
async function readEntries(
  main: ValidatedFile<ConfigFile>,
  schema: z.ZodType<CustomerEntry[]>,
  reader: ConfigReader,
): Promise<readonly CustomerFileEntry[]> {
  const lists = [{ file: main.file, path: ['customers'], values: main.values.customers }];
  for (const name of await findCustomerFiles(main)) {
    lists.push({ path: [], ...(await reader.readYaml(name, schema)) });
  }
  return lists.flatMap(({ file, path, values: list }) =>
    (Array.isArray(list) ? list : []).flatMap((values, i) =>
      values === undefined ? [] : [{ file, path: [...path, i], values }],
    ),
  );
}

/** Returns a customer with all defaults. */
function customerOf(
  entry: CustomerEntry,
  defaults: ConfigFile['defaults'],
  secret: SecretText,
): CustomerConfig {
  const [hour = NaN, minute = NaN] = (entry.day_starts_at ?? defaults.day_starts_at)
    .split(':')
    .map(Number);
  const building = {
    estimate: entry.estimate ?? defaults.estimate,
    openingHours: entry.opening_hours,
    staffedHours: entry.staffed_hours,
    holidays: entry.holidays,
  };
  return {
    name: entry.name,
    clientId: entry.client_id,
    clientSecret: { secret: new Secret(secret.text), path: secret.path },
    timezone: entry.timezone ?? defaults.timezone ?? '',
    dayStartsAt: { hour, minute },
    ...building,
    capacity: entry.capacity,
    // Without a prototype, `constructor` is a key only if it was given.
    labels: Object.assign(Object.create(null), entry.labels),
    streams: entry.streams,
    breakdowns: entry.breakdowns,
    branches: Object.assign(Object.create(null), branchesOf(entry, building)),
  };
}

function branchesOf(
  { branches }: CustomerEntry,
  customer: Omit<BranchConfig, 'name' | 'capacity'>,
): CustomerConfig['branches'] {
  const entries = Object.entries(branches).map(([id, branch]): [string, BranchConfig] => [
    id,
    {
      name: branch.name,
      capacity: branch.capacity,
      estimate: branch.estimate ?? customer.estimate,
      openingHours: branch.opening_hours ?? customer.openingHours,
      staffedHours: branch.staffed_hours ?? customer.staffedHours,
      holidays: branch.holidays ?? customer.holidays,
    },
  ]);
  return Object.fromEntries(entries);
}

/** Returns where the secret is, and what it is now; undefined after a problem. */
async function readSecret(
  { file, path, values: { client_secret: inline, client_secret_file: name } }: CustomerFileEntry,
  reader: ConfigReader,
): Promise<SecretText | undefined> {
  const inlinePath = [...path, 'client_secret'];
  const filePath = [...path, 'client_secret_file'];
  const isInline = file.has(inlinePath);
  if (isInline === file.has(filePath)) {
    const got = isInline ? 'both' : 'neither';
    file.add(filePath, `expected one of client_secret_file and client_secret, got ${got}`);
  }
  if (inline !== undefined) {
    reader.formatter.addSecret(inline);
    if (!file.textAt(inlinePath).includes('${')) {
      file.warnOfSecrets(inlinePath, 'a secret');
    }
    warnOfPasted(file, inlinePath, inline);
    if (file.isCutByComment(inlinePath)) {
      file.warn(inlinePath, 'the secret ends before #, which begins a comment: write it in quotes');
    }
    return { text: inline, path: undefined };
  }
  return reader.readNamed(
    file,
    filePath,
    name,
    (content, secretPath) => {
      const text = parseSecret(content).reveal();
      reader.formatter.addSecret(text);
      warnOfPasted(file, filePath, text);
      return { text, path: secretPath };
    },
    true,
  );
}

function warnOfPasted(file: YamlFile, path: Path, text: string): void {
  const problem = pastedWith(new Secret(text));
  if (problem !== undefined) {
    file.warn(path, `${problem}, which is probably no part of it`);
  }
}

/**
 * Returns the requests per second that polling needs: one per interval for each stream, and two per
 * breakdown interval for each breakdown: one from the start of the counting period and one of the day
 * (docs/how-it-counts.md#rules). The windows of branches need one more per interval.
 */
export function requestsPerSecond(
  { intervalMs, breakdownIntervalMs }: PollingConfig,
  customers: readonly DeepPartial<Pick<CustomerEntry, 'streams' | 'breakdowns'>>[],
): number {
  return customers.reduce((sum, { streams = [], breakdowns = [] }) => {
    const perInterval = streams.length + (breakdowns.includes('branch') ? 1 : 0);
    const perBreakdownInterval = 2 * breakdowns.length;
    return sum + (perInterval / intervalMs + perBreakdownInterval / breakdownIntervalMs) * 1_000;
  }, 0);
}

/**
 * Returns twice what polling needs, and more for the first polls of a start: a token, five requests for each
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

/** Returns a URL in its normal form, without a slash at the end. */
function addressOf(url: string): string {
  return new URL(url).href.replace(/\/+$/, '');
}
