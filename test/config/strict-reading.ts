/**
 * A second reading of a configuration, that shares nothing with the program's: the yaml library's
 * strictest schema, in which every scalar is text, and the contract (CONTRACT.md, section 2), written
 * down once more. Only for files that were accepted: it refuses nothing but what is not known.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isScalar, parseDocument, visit } from 'yaml';
import type { Env } from './folder.ts';

type Value = string | readonly Value[] | { readonly [key: string]: Value };
type Mapping = Readonly<Record<string, Value>>;

/** The contract's keys. */
const KNOWN = {
  top: ['service', 'polling', 'defaults', 'customers', 'customer_files'],
  service: [
    'base_url',
    'auth_url',
    'scope',
    'timeout',
    'max_concurrency',
    'max_requests_per_second',
    'allow_insecure',
    'proxy_url',
    'ca_file',
  ],
  polling: ['interval', 'reconcile_interval', 'breakdown_interval'],
  defaults: ['timezone', 'day_starts_at'],
  customer: [
    'name',
    'client_id',
    'client_secret_file',
    'client_secret',
    'timezone',
    'day_starts_at',
    'capacity',
    'opening_hours',
    'holidays',
    'labels',
    'streams',
    'breakdowns',
    'branches',
  ],
} as const;

/** What is compared: the configuration as plain values, secrets and all. */
export interface AggregatedResponse {
  readonly service: Readonly<Record<string, unknown>>;
  readonly polling: Readonly<Record<string, unknown>>;
  readonly customers: readonly Readonly<Record<string, unknown>>[];
}

/** Throws for what YAML 1.2 or the contract does not know. `path` is the file, absolute. */
export function strictReading(text: string, path: string, env: Env): AggregatedResponse {
  const top = section(parse(text), KNOWN.top);
  const service = section(top['service'], KNOWN.service);
  const polling = section(top['polling'], KNOWN.polling);
  const defaults = section(top['defaults'], KNOWN.defaults);
  function scalar(value: Value | undefined, otherwise = ''): string {
    return value === undefined ? otherwise : filledIn(value, env);
  }
  function fileOf(value: Value | undefined): string | undefined {
    return value === undefined
      ? undefined
      : readFileSync(resolve(dirname(path), scalar(value)), 'utf8');
  }
  function textsOf(value: Value | undefined): Readonly<Record<string, string>> {
    const entries = Object.entries(mappingOf(value));
    return Object.fromEntries(entries.map(([key, text]) => [filledIn(key, env), scalar(text)]));
  }
  function wordsOf(value: Value | undefined, otherwise: readonly string[]): readonly string[] {
    return value === undefined
      ? otherwise
      : listOf(value)
          .map((word) => scalar(word))
          .toSorted();
  }
  return {
    service: {
      baseUrl: address(scalar(service['base_url'])),
      authUrl: address(scalar(service['auth_url'])),
      scope: scalar(service['scope'], 'ServiceAPI'),
      timeoutMs: milliseconds(scalar(service['timeout'], '10s')),
      maxConcurrency: Number(scalar(service['max_concurrency'], '32')),
      ...(service['max_requests_per_second'] !== undefined && {
        maxRequestsPerSecond: Number(scalar(service['max_requests_per_second'])),
      }),
      allowInsecure: /^true$/i.test(scalar(service['allow_insecure'], 'false')),
      proxyUrl: service['proxy_url'] && new URL(scalar(service['proxy_url'])).href.slice(0, -1),
      ca: fileOf(service['ca_file']),
    },
    polling: {
      intervalMs: milliseconds(scalar(polling['interval'], '60s')),
      reconcileIntervalMs: milliseconds(scalar(polling['reconcile_interval'], '1h')),
      breakdownIntervalMs: milliseconds(scalar(polling['breakdown_interval'], '5m')),
    },
    customers: (top['customers'] === undefined ? [] : listOf(top['customers'])).map((value) => {
      const customer = section(value, KNOWN.customer);
      const dayStartsAt = customer['day_starts_at'] ?? defaults['day_starts_at'];
      const [hour, minute] = scalar(dayStartsAt, '04:00').split(':');
      return {
        name: scalar(customer['name']),
        clientId: scalar(customer['client_id']),
        secret:
          fileOf(customer['client_secret_file'])?.replace(/\r?\n$/, '') ??
          scalar(customer['client_secret']),
        timezone: scalar(customer['timezone'] ?? defaults['timezone']),
        dayStartsAt: { hour: Number(hour), minute: Number(minute) },
        capacity: customer['capacity'] && Number(scalar(customer['capacity'])),
        openingHours: customer['opening_hours'] && scalar(customer['opening_hours']),
        holidays: customer['holidays'] && scalar(customer['holidays']).toLowerCase(),
        labels: textsOf(customer['labels']),
        streams: wordsOf(customer['streams'], ['logins', 'people']),
        breakdowns: wordsOf(customer['breakdowns'], []),
        branches: textsOf(customer['branches']),
      };
    }),
  };
}

function parse(text: string): Value {
  const document = parseDocument(text, {
    schema: 'failsafe',
    strict: true,
    uniqueKeys: true,
    stringKeys: true,
    logLevel: 'error',
  });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem !== undefined) {
    throw problem;
  }
  visit(document, {
    Pair(_, { key }) {
      if (!isScalar(key)) {
        throw new Error('a key is no text');
      }
    },
  });
  return document.toJS() as Value;
}

function section(value: Value | undefined, known: readonly string[]): Mapping {
  const mapping = mappingOf(value);
  const unknown = Object.keys(mapping).filter((key) => !known.includes(key));
  if (unknown.length > 0) {
    throw new Error(`unknown keys: ${unknown.join(', ')}`);
  }
  return mapping;
}

/** Nothing is an empty mapping. */
function mappingOf(value: Value | undefined): Mapping {
  if (value === undefined || (typeof value === 'string' && /^(|~|null)$/i.test(value))) {
    return {};
  }
  if (typeof value === 'string' || Array.isArray(value)) {
    throw new Error('no mapping where one belongs');
  }
  return value as Mapping;
}

function listOf(value: Value): readonly Value[] {
  if (!Array.isArray(value)) {
    throw new Error('no list where one belongs');
  }
  return value as readonly Value[];
}

function filledIn(value: Value, env: Env): string {
  if (typeof value !== 'string') {
    throw new Error('no text where one belongs');
  }
  return value.replaceAll(/\$\$\{|\$\{(\w+)\}/g, (whole, name: string) =>
    whole === '$${' ? '${' : (env[name] ?? 'unset'),
  );
}

function address(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`.replace(/\/+$/, '');
}

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  y: 31_536_000_000,
};

function milliseconds(duration: string): number {
  return Array.from(duration.matchAll(/(\d+)(ms|[smhdwy])/g)).reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * (UNITS_MS[unit] ?? Number.NaN),
    0,
  );
}
