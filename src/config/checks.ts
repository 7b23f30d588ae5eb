/** Checks of several keys together. They are made after a problem, too, with what is valid. */
import { parseDuration } from '../base/duration.ts';
import { messageOf } from '../base/errors.ts';
import { createOpeningHoursParser } from '../counting/opening-hours.ts';
import type { DeepPartial, LoadedFile } from './loading.ts';
import type { Problems } from './problems.ts';
import type { ConfigFile, CustomerEntry } from './schema.ts';
import { EXPOSED, isExposed } from './secret-file.ts';
import type { PollingConfig } from './types.ts';
import type { Path } from './yaml-source.ts';

/** A customer and where it is. */
export interface Entry {
  readonly file: LoadedFile<unknown>;
  readonly path: Path;
  readonly values: DeepPartial<CustomerEntry>;
}

export function checkConfig(
  main: LoadedFile<ConfigFile>,
  entries: readonly Entry[],
  problems: Problems,
): void {
  checkThatThereAreCustomers(main, entries, problems);
  checkNames(entries, problems);
  checkCustomers(main, entries, problems);
  checkService(main, entries, problems);
}

function checkThatThereAreCustomers(
  { source }: LoadedFile<ConfigFile>,
  entries: readonly Entry[],
  problems: Problems,
): void {
  const keys = ['customers', 'customer_files'] as const;
  const [given] = keys.filter((key) => source.has([key]) || problems.has(source, [key]));
  const isMapping = !problems.has(source, []);
  if (isMapping && (given === undefined || (entries.length === 0 && problems.count === 0))) {
    const message = 'expected at least one customer, here or in customer_files, got none';
    problems.add(source, ['customers'], message, source.locate([given ?? 'customers']));
  }
}

function checkNames(entries: readonly Entry[], problems: Problems): void {
  const first = new Map<string, Entry>();
  for (const entry of entries) {
    const { name = '' } = entry.values;
    const other = first.get(name);
    if (other === undefined) {
      first.set(name, entry);
    } else if (name !== '') {
      const { source } = other.file;
      const { line } = source.position(source.locate([...other.path, 'name']).start);
      const message = `expected a unique name, got that of the customer in ${source.name}:${line}`;
      problems.add(entry.file.source, [...entry.path, 'name'], message);
    }
  }
}

function checkCustomers(
  main: LoadedFile<ConfigFile>,
  entries: readonly Entry[],
  problems: Problems,
): void {
  const zone = ['defaults', 'timezone'];
  const hasDefaultZone = isGiven(main, zone, problems) || problems.has(main.source, ['defaults']);
  const parseOpeningHours = createOpeningHoursParser();
  for (const { file, path, values } of entries) {
    const { source } = file;
    const at = [...path, 'timezone'];
    if (!hasDefaultZone && values.timezone === undefined && !isGiven(file, at, problems)) {
      const expected = 'expected an IANA time zone such as Europe/Copenhagen';
      problems.add(source, at, `${expected}, here or in defaults, got nothing`);
    }
    const { opening_hours: hours, streams = [], breakdowns = [] } = values;
    if (breakdowns.length > 0 && streams.length > 0 && !streams.includes('people')) {
      const message = 'expected people in streams: breakdowns are breakdowns of people';
      problems.add(source, [...path, 'breakdowns'], message);
    }
    if (hours === undefined) {
      continue;
    }
    try {
      // With an invalid region, the hours are checked with another.
      const isInvalid = problems.has(source, [...path, 'holidays']);
      parseOpeningHours(hours, isInvalid ? 'dk' : values.holidays);
    } catch (error) {
      const hoursPath = [...path, 'opening_hours'];
      // The message may quote the value.
      const isShown = problems.quote(source, hoursPath) !== undefined;
      const expected = "expected OpenStreetMap's syntax, as in Mo-Fr 08:00-20:00";
      problems.add(source, hoursPath, isShown ? messageOf(error) : expected);
    }
  }
}

function isGiven({ source }: LoadedFile<unknown>, path: Path, problems: Problems): boolean {
  return source.has(path) || problems.has(source, path);
}

function checkService(
  { source, content, values }: LoadedFile<ConfigFile>,
  entries: readonly Entry[],
  problems: Problems,
): void {
  const { service = {}, polling = {} } = values;
  for (const key of ['base_url', 'auth_url'] as const) {
    const url = service[key];
    if (url?.startsWith('http:') === true && service.allow_insecure !== true && !isLoopback(url)) {
      problems.add(source, ['service', key], 'must use https (or set allow_insecure: true)');
    }
  }
  const proxy = ['service', 'proxy_url'];
  if (source.textAt(proxy).includes('@') && isExposed(content)) {
    problems.warn(source, proxy, `a secret in a file that ${EXPOSED}`);
  }
  const intervals = pollingOf(polling);
  if (intervals.reconcileIntervalMs < intervals.intervalMs) {
    const message = 'expected at least as much as interval, got less';
    problems.add(source, ['polling', 'reconcile_interval'], message);
  }
  const need = requestsPerSecond(
    intervals,
    entries.map(({ values }) => ({
      streams: [...new Set(values.streams)],
      breakdowns: [...new Set(values.breakdowns)],
    })),
  );
  if ((service.max_requests_per_second ?? Infinity) < need) {
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
  { intervalMs, breakdownIntervalMs }: PollingConfig,
  customers: readonly {
    readonly streams: readonly unknown[];
    readonly breakdowns: readonly unknown[];
  }[],
): number {
  return customers.reduce(
    (sum, { streams, breakdowns }) =>
      sum + (streams.length / intervalMs + (2 * breakdowns.length) / breakdownIntervalMs) * 1_000,
    0,
  );
}

export function pollingOf(polling: DeepPartial<ConfigFile['polling']>): PollingConfig {
  return {
    intervalMs: milliseconds(polling.interval ?? '60s'),
    reconcileIntervalMs: milliseconds(polling.reconcile_interval ?? '1h'),
    breakdownIntervalMs: milliseconds(polling.breakdown_interval ?? '5m'),
  };
}

export function milliseconds(duration: string): number {
  return parseDuration(duration) ?? 0;
}
