/**
 * Every key of the configuration: type, range, default, and whether its value may be shown.
 * config.example.yaml explains each.
 * Checks of several keys together are in checks.ts.
 */
import { z } from 'zod';
import { BREAKDOWNS, KEY_TIMES, MINUTE_STREAMS, REQUEST_TIMES } from '../base/model.ts';
import {
  decimal,
  duration,
  holidayRegion,
  integer,
  listOf,
  mapping,
  oneOf,
  opaque,
  path,
  proxyUrl,
  serviceUrl,
  shorthand,
  text,
  timeOfDay,
  timezone,
  trueOrFalse,
} from './values.ts';

const RESERVED_LABELS: readonly string[] = ['customer', 'timezone', 'job', 'instance'];

export type ConfigFile = z.output<ReturnType<typeof createConfigSchema>>;
export type CustomerEntry = ConfigFile['customers'][number];

/** Returns the schema of the configuration file. That of `customers` is also that of customer files. */
export function createConfigSchema() {
  const zone = timezone();
  const service = z.strictObject({
    base_url: serviceUrl('https://statistics.example.org'),
    auth_url: serviceUrl('https://identity.example.org'),
    scope: text('a scope such as ServiceAPI').default('ServiceAPI'),
    timeout: duration('100ms', '5m', '10s'),
    max_concurrency: integer(1, 1_000).default(32),
    max_requests_per_second: decimal(0.01, 100_000).optional(),
    request_times: oneOf(REQUEST_TIMES).default('offset'),
    key_times: oneOf(KEY_TIMES).default('local'),
    allow_insecure: trueOrFalse().default(false),
    proxy_url: proxyUrl().optional(),
    ca_file: path('a file with certificates').optional(),
  });
  const polling = z.strictObject({
    interval: duration('1s', '1d', '60s'),
    reconcile_interval: duration('1s', '1d', '1h'),
    breakdown_interval: duration('1s', '1d', '5m'),
  });
  const defaults = z.strictObject({
    timezone: zone.optional(),
    day_starts_at: timeOfDay().default('04:00'),
    estimate: trueOrFalse().default(true),
  });
  const hours = {
    opening_hours: text('opening hours such as "Mo-Fr 08:00-20:00; PH off"', {
      maxLength: 1_000,
    }).optional(),
    staffed_hours: text('staffed hours such as "Mo-Fr 10:00-18:00; PH off"', {
      maxLength: 1_000,
    }).optional(),
    holidays: holidayRegion().optional(),
  };
  const branch = z.strictObject({
    name: text('a name such as Main Library').optional(),
    ...hours,
    capacity: integer(1, 1_000_000).optional(),
    estimate: trueOrFalse().optional(),
  });
  const customer = z
    .strictObject({
      name: text('a name of up to 128 visible characters', { maxLength: 128 }),
      client_id: text('the id from the API module tab'),
      client_secret: opaque('the secret').optional(),
      client_secret_file: path('a file with the secret').optional(),
      timezone: zone.optional(),
      day_starts_at: timeOfDay().optional(),
      estimate: trueOrFalse().optional(),
      capacity: integer(1, 1_000_000).optional(),
      ...hours,
      labels: mapping(z.record(labelName(), text('a label value', { minLength: 0 })))
        .meta({ expected: 'labels such as { region: north }' })
        .default({}),
      streams: listOf(MINUTE_STREAMS, 1).default([...MINUTE_STREAMS]),
      breakdowns: listOf(BREAKDOWNS, 0).default([]),
      branches: mapping(
        z.record(
          text('a branch id of up to 64 characters such as 101', { maxLength: 64 }),
          shorthand('name', 'a name such as Main Library, or a mapping', branch),
        ),
      )
        .meta({ expected: 'branch ids with names such as { 101: Main Library }' })
        .default({}),
    })
    .meta({ expected: 'a customer such as { name: …, client_id: … }' });
  return z
    .strictObject({
      service: mapping(service).meta({ expected: 'a mapping with base_url and auth_url' }),
      polling: mapping(polling).meta({ expected: 'a mapping with interval' }).prefault({}),
      defaults: mapping(defaults).meta({ expected: 'a mapping with timezone' }).prefault({}),
      customers: z.array(mapping(customer)).meta({ expected: 'a list of customers' }).default([]),
      customer_files: z
        .array(path('a file or pattern such as customers/*.yaml'))
        .meta({ expected: 'a list of files such as ["customers/*.yaml"]', harmless: true })
        .default([]),
    })
    .meta({ expected: 'a mapping with service and customers' });
}

function labelName() {
  const reserved = RESERVED_LABELS.join('|');
  return z
    .string()
    .regex(new RegExp(`^(?!__|(?:${reserved})$)[a-zA-Z_][a-zA-Z0-9_]*$`))
    .meta({
      expected: `a label name of letters, digits and _, not reserved (${RESERVED_LABELS.join(', ')}, __…)`,
    });
}
