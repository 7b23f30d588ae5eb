/**
 * Every key of the configuration (CONTRACT.md, section 2): its shape, its default, and a line about
 * it. Checks of several keys together are elsewhere.
 */
import { CUSTOMER_KEYS } from './customer-keys.ts';
import { CUSTOMERS_AND_ZONES, ONE_SECRET, SECURE_OR_ALLOWED } from './keys-together.ts';
import { listOf } from './lists.ts';
import { mapping } from './mapping.ts';
import type { KeyTable, Section } from './mapping.ts';
import { documentOf } from './schema.ts';
import type { JsonSchema } from './schema.ts';
import { decimalNumber, filePath, text, trueOrFalse, wholeNumber } from './shapes.ts';
import { duration, proxyUrl, serviceUrl, timeOfDay, timezone } from './values.ts';

/** The limit on requests that nobody set is never below this. */
export const LEAST_REQUESTS_PER_SECOND = 10;

export const SERVICE_KEYS = {
  base_url: {
    about: 'Where the data is; /v1/… is appended.',
    shape: serviceUrl('/v1', 'https://statistics.example.org'),
    required: true,
  },
  auth_url: {
    about: 'Where tokens come from; /connect/token is appended.',
    shape: serviceUrl('/connect/token', 'https://identity.example.org'),
    required: true,
  },
  scope: {
    about: 'The scope of the tokens.',
    shape: text({ expects: 'a scope, as in ServiceAPI', longest: 256 }),
    default: 'ServiceAPI',
  },
  timeout: {
    about: 'One request, all of it.',
    shape: duration({ least: '100ms', most: '5m', example: '10s' }),
    default: '10s',
  },
  max_concurrency: {
    about: 'Requests under way at once, all customers together.',
    shape: wholeNumber({ least: 1, most: 1_000, example: '32' }),
    default: 32,
  },
  max_requests_per_second: {
    about: 'Requests per second, all customers together. Default: twice the need, at least 10.',
    shape: decimalNumber({ least: 0.01, most: 100_000, example: '50' }),
  },
  allow_insecure: {
    about: 'Allows http to other machines, where everybody on the way reads the credentials.',
    shape: trueOrFalse(),
    default: false,
  },
  proxy_url: {
    about: 'The proxy. Default: HTTPS_PROXY and NO_PROXY.',
    shape: proxyUrl(),
  },
  ca_file: {
    about: 'Certificates to trust beside those of the system, as PEM.',
    shape: filePath('a file with certificates, as in ca.pem'),
  },
} as const satisfies KeyTable;

export const POLLING_KEYS = {
  interval: {
    about: 'How often each stream of each customer is read.',
    shape: duration({ least: '1s', most: '1d', example: '60s' }),
    default: '60s',
  },
  reconcile_interval: {
    about: 'How often the totals since the epoch are read anew.',
    shape: duration({ least: '1s', most: '1d', example: '1h' }),
    default: '1h',
  },
  breakdown_interval: {
    about: 'How often each breakdown of each customer is read.',
    shape: duration({ least: '1s', most: '1d', example: '5m' }),
    default: '5m',
  },
} as const satisfies KeyTable;

/** For every customer that does not say otherwise. */
export const DEFAULTS_KEYS = {
  timezone: {
    about: 'Where the wall clocks of the customer are.',
    shape: timezone(),
  },
  day_starts_at: {
    about: "Local time at which occupancy and today's figures start again.",
    shape: timeOfDay(),
    default: '04:00',
  },
} as const satisfies KeyTable;

export const CUSTOMERS = listOf(
  mapping(CUSTOMER_KEYS, {
    expects: 'keys such as name and client_id',
    elsewhere,
    schema: ONE_SECRET,
  }),
  { expects: 'a list of customers, each beginning with "- name: "' },
);

export const TOP_KEYS = {
  service: {
    about: 'The service and how to reach it.',
    shape: mapping(SERVICE_KEYS, {
      expects: 'keys such as base_url and auth_url',
      elsewhere,
      schema: SECURE_OR_ALLOWED,
    }),
    required: true,
  },
  polling: {
    about: 'How often what is read.',
    shape: mapping(POLLING_KEYS, { expects: 'keys such as interval', elsewhere }),
    default: {},
  },
  defaults: {
    about: 'For every customer that does not say otherwise.',
    shape: mapping(DEFAULTS_KEYS, { expects: 'timezone or day_starts_at', elsewhere }),
    default: {},
  },
  customers: {
    about: 'The customers; at least one, here or in customer_files.',
    shape: CUSTOMERS,
    default: [],
  },
  customer_files: {
    about: 'Files, each with a list like customers; * stands for any name.',
    shape: listOf(filePath('a file or a pattern, as in customers/*.yaml'), {
      expects: 'a list of files, as in ["customers/*.yaml"]',
    }),
    default: [],
  },
} as const satisfies KeyTable;

export const CONFIGURATION = mapping(TOP_KEYS, {
  expects: 'keys such as service and customers',
  elsewhere,
  schema: CUSTOMERS_AND_ZONES,
});

/** All of this as JSON Schema. */
export function configurationSchema(): JsonSchema {
  return documentOf('Configuration of library-stats-exporter', CONFIGURATION.schema);
}

export type ServiceSection = Section<typeof SERVICE_KEYS>;
export type PollingSection = Section<typeof POLLING_KEYS>;
export type DefaultsSection = Section<typeof DEFAULTS_KEYS>;
export type CustomerSection = Section<typeof CUSTOMER_KEYS>;

/** Every key by its path, as in `customers[].name`. */
export function allKeys(): ReadonlyMap<string, KeyTable[string]> {
  const sections = [
    ['', TOP_KEYS],
    ['service.', SERVICE_KEYS],
    ['polling.', POLLING_KEYS],
    ['defaults.', DEFAULTS_KEYS],
    ['customers[].', CUSTOMER_KEYS],
  ] as const satisfies readonly (readonly [string, KeyTable])[];
  return new Map(
    sections.flatMap(([prefix, table]) =>
      Object.entries<KeyTable[string]>(table).map(([key, rule]) => [prefix + key, rule] as const),
    ),
  );
}

/** In which part a key belongs, if it is known in one at all. */
function elsewhere(key: string): string | undefined {
  const parts = [
    ['service', SERVICE_KEYS],
    ['polling', POLLING_KEYS],
    ['a customer', CUSTOMER_KEYS],
    ['no other key, at the beginning of a line', TOP_KEYS],
  ] as const;
  return parts.find(([, table]) => Object.hasOwn(table, key))?.[0];
}
