/**
 * Loads the configuration: files and environment in, a complete Config or all problems out.
 */
import { glob } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { z } from 'zod';
import { ConfigError, messageOf } from '../base/errors.ts';
import { BREAKDOWNS, MINUTE_STREAMS } from '../base/model.ts';
import { Secret } from '../base/secret.ts';
import { checkConfig, milliseconds, pollingOf, requestsPerSecond } from './checks.ts';
import type { Entry } from './checks.ts';
import { Loading } from './loading.ts';
import type { LoadedFile } from './loading.ts';
import { createConfigSchema } from './schema.ts';
import type { ConfigFile, CustomerEntry } from './schema.ts';
import {
  EXPOSED,
  isExposed,
  MAX_SECRET_BYTES,
  parseCertificates,
  parseSecret,
} from './secret-file.ts';
import type { Config, CustomerConfig, SecretSource, WebConfig } from './types.ts';
import { loadWebConfig } from './web.ts';
import type { LoadedWebConfig } from './web.ts';
import type { Path } from './yaml-source.ts';
import type { Environment } from './yaml-values.ts';

export interface LoadedConfig {
  readonly config: Config;
  /** Undefined without a web configuration file. */
  readonly web?: LoadedWebConfig | undefined;
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
  const { webPath } = options;
  const results = await Promise.allSettled([
    loadMainConfig(options),
    webPath === undefined ? undefined : loadWebConfig({ ...options, path: webPath }),
  ]);
  const [main, web] = results;
  if (main.status === 'fulfilled' && web.status === 'fulfilled') {
    return { ...main.value, web: web.value };
  }
  const errors = results.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  const unexpected = errors.find((error) => !(error instanceof ConfigError));
  if (unexpected !== undefined) {
    throw unexpected;
  }
  throw new ConfigError(
    errors.map(messageOf).join('\n'),
    errors.reduce((sum: number, { problems }: ConfigError) => sum + problems, 0),
  );
}

async function loadMainConfig(options: {
  readonly path: string;
  readonly env: Environment;
}): Promise<LoadedConfig> {
  const schema = createConfigSchema();
  const loading = new Loading(schema, options.env);
  const { problems } = loading;
  const main = await loading.readYaml(options.path, schema);
  if (main === undefined) {
    problems.throwIfAny();
    throw new Error('unreachable: a file without values is a problem');
  }
  const entries = [
    ...entriesOf(main, ['customers'], main.values.customers),
    ...(await readCustomerFiles(main, schema.shape.customers.unwrap(), loading)),
  ];
  checkConfig(main, entries, problems);
  const secrets = await readSecrets(entries, loading);
  const ca = await readCa(main, loading);
  problems.throwIfAny();
  return {
    // Without a problem, nothing is missing.
    config: configOf(
      main.values as ConfigFile,
      entries.map(({ values }) => values as CustomerEntry),
      secrets,
      ca,
    ),
    files: [...loading.files],
    warnings: problems.warnings,
  };
}

function entriesOf(
  file: LoadedFile<unknown>,
  path: Path,
  list: LoadedFile<CustomerEntry[]>['values'] | undefined,
): readonly Entry[] {
  return (Array.isArray(list) ? list : []).flatMap((values, i) =>
    values === undefined || values === null ? [] : [{ file, path: [...path, i], values }],
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
    entries.push(...(file === undefined ? [] : entriesOf(file, [], file.values)));
  }
  return entries;
}

/** Absolute paths, each with the name to show, in the order of the patterns and by name. */
async function findCustomerFiles(
  { source, values }: LoadedFile<ConfigFile>,
  { problems }: Loading,
): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  const folder = dirname(source.path);
  for (const [i, pattern] of (values.customer_files ?? []).entries()) {
    const path = ['customer_files', i];
    if (pattern === undefined) {
      continue;
    }
    try {
      for (const file of await findFiles(pattern, folder)) {
        const name = isAbsolute(file) ? file : join(dirname(source.name), file);
        files.set(resolve(folder, file), name);
      }
    } catch (error) {
      problems.add(source, path, messageOf(error));
    }
    if (files.delete(source.path)) {
      problems.add(source, path, 'expected customer files, got this file itself');
    }
  }
  return files;
}

/** Throws an Error that says what is wrong with the pattern. */
async function findFiles(pattern: string, folder: string): Promise<readonly string[]> {
  let searched = 0;
  function exclude(path: string): boolean {
    searched += 1;
    return searched > MAX_SEARCHED_PATHS || UNSEARCHED_FOLDERS.has(resolve(folder, path));
  }
  const files: string[] = [];
  for await (const file of glob(pattern, { cwd: folder, exclude })) {
    files.push(file);
    if (files.length > MAX_CUSTOMER_FILES) {
      throw new Error(`expected at most ${MAX_CUSTOMER_FILES} files, got more`);
    }
  }
  if (searched > MAX_SEARCHED_PATHS) {
    throw new Error(`expected a pattern that searches at most ${MAX_SEARCHED_PATHS} paths`);
  }
  if (files.length === 0) {
    throw new Error('expected an existing file, got none that matches');
  }
  return files.toSorted();
}

/** In the order of the customers; undefined after a problem. */
async function readSecrets(
  entries: readonly Entry[],
  loading: Loading,
): Promise<readonly (SecretSource | undefined)[]> {
  const secrets: (SecretSource | undefined)[] = [];
  const queue = entries.entries();
  async function work(): Promise<void> {
    for (const [i, entry] of queue) {
      secrets[i] = await readSecret(entry, loading);
    }
  }
  await Promise.all(Array.from({ length: MAX_OPEN_FILES }, work));
  return secrets;
}

async function readSecret(
  { file: { source, content }, path, values }: Entry,
  loading: Loading,
): Promise<SecretSource | undefined> {
  const { problems } = loading;
  const { client_secret: inline, client_secret_file: name } = values;
  if ((inline === undefined) === (name === undefined)) {
    const keys = ['client_secret', 'client_secret_file'].map((key) => [...path, key]);
    const given = keys.filter((at) => source.has(at) || problems.has(source, at));
    if (given.length !== 1) {
      const got = given.length === 0 ? 'neither' : 'both';
      const message = `expected one of client_secret_file and client_secret, got ${got}`;
      problems.add(source, [...path, 'client_secret_file'], message);
    }
  }
  if (inline !== undefined) {
    problems.addSecret(inline);
    const at = [...path, 'client_secret'];
    if (isExposed(content) && !source.textAt(at).includes('${')) {
      problems.warn(source, at, `a secret in a file that ${EXPOSED}`);
    }
    return { secret: new Secret(inline), path: undefined };
  }
  if (name === undefined) {
    return undefined;
  }
  const at = [...path, 'client_secret_file'];
  return loading.readNamed(
    source,
    at,
    name,
    (file) => {
      const secret = parseSecret(file);
      problems.addSecret(secret.reveal());
      if (secret.reveal().includes('\n')) {
        problems.warn(source, at, 'the file has several lines, expected the secret alone');
      }
      if (isExposed(file)) {
        problems.warn(source, at, `the file ${EXPOSED}`);
      }
      return { secret, path: resolve(dirname(source.path), name) };
    },
    MAX_SECRET_BYTES,
  );
}

async function readCa(
  { source, values }: LoadedFile<ConfigFile>,
  loading: Loading,
): Promise<string | undefined> {
  const file = values.service?.ca_file;
  return file === undefined
    ? undefined
    : loading.readNamed(source, ['service', 'ca_file'], file, parseCertificates);
}

function configOf(
  { service, polling, defaults }: ConfigFile,
  entries: readonly CustomerEntry[],
  secrets: readonly (SecretSource | undefined)[],
  ca: string | undefined,
): Config {
  const intervals = pollingOf(polling);
  const customers = entries.flatMap((entry, i) => {
    const secret = secrets[i];
    return secret === undefined ? [] : [customerOf(entry, secret, defaults)];
  });
  const need = requestsPerSecond(intervals, customers);
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
    polling: intervals,
    customers,
  };
}

function customerOf(
  entry: CustomerEntry,
  clientSecret: SecretSource,
  defaults: ConfigFile['defaults'],
): CustomerConfig {
  const [hour = 0, minute = 0] = (entry.day_starts_at ?? defaults.day_starts_at)
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
    streams: MINUTE_STREAMS.filter((stream) => entry.streams.includes(stream)),
    breakdowns: BREAKDOWNS.filter((breakdown) => entry.breakdowns.includes(breakdown)),
    branches: Object.assign(Object.create(null), entry.branches),
  };
}

function addressOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`.replace(/\/+$/, '');
}
