/**
 * Every key of the configuration: type, range, default, description, and whether its value may be
 * shown. Validation, docs/config.schema.json and docs/reference/configuration.md are made of it.
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
    base_url: serviceUrl('https://statistics.example.org').describe(
      'Address of the data service; /v1/… is appended.',
    ),
    auth_url: serviceUrl('https://identity.example.org').describe(
      'Address of the identity server; /connect/token is appended.',
    ),
    scope: text('a scope such as ServiceAPI').default('ServiceAPI').describe('OAuth2 scope.'),
    timeout: duration('100ms', '5m', '10s').describe('Timeout of one request.'),
    max_concurrency: integer(1, 1_000).default(32).describe('Requests in flight, all customers.'),
    max_requests_per_second: decimal(0.01, 100_000)
      .optional()
      .describe(
        'Rate limit of requests, all customers together. Default: twice what the customers need, at least 50, and up to 200 where a start needs it.',
      ),
    request_times: oneOf(REQUEST_TIMES)
      .default('offset')
      .describe(
        'How requests write times: offset (local time with its offset), utc, or local (local time without an offset). check --connect says what fits.',
      ),
    key_times: oneOf(KEY_TIMES)
      .default('local')
      .describe(
        'What keys without an offset are: local (times of the customer) or utc. Other keys explain themselves. check --connect says what fits.',
      ),
    allow_insecure: trueOrFalse()
      .default(false)
      .describe('Allows http to other hosts. Credentials are then sent in clear text.'),
    proxy_url: proxyUrl().optional().describe('HTTP proxy. Default: HTTPS_PROXY and NO_PROXY.'),
    ca_file: path('a file with certificates')
      .optional()
      .describe(
        'Certificate authorities (PEM) to trust in addition to those of Node.js: the ones it ships and those of NODE_EXTRA_CA_CERTS. Those of the system are trusted only with NODE_OPTIONS=--use-system-ca.',
      ),
  });
  const polling = z.strictObject({
    interval: duration('1s', '1d', '60s').describe('How often each stream is polled.'),
    reconcile_interval: duration('1s', '1d', '1h').describe('How often totals are read again.'),
    breakdown_interval: duration('1s', '1d', '5m').describe('How often a breakdown is polled.'),
  });
  const defaults = z.strictObject({
    timezone: zone.optional().describe('Time zone of customers without one.'),
    day_starts_at: timeOfDay()
      .default('04:00')
      .describe("Local time at which occupancy and today's values start again."),
    estimate: trueOrFalse().default(true).describe('Whether occupancy is estimated.'),
  });
  const hours = {
    opening_hours: text('opening hours such as "Mo-Fr 08:00-20:00; PH off"', { maxLength: 1_000 })
      .optional()
      .describe("Opening hours in OpenStreetMap's syntax, local time."),
    staffed_hours: text('staffed hours such as "Mo-Fr 10:00-18:00; PH off"', { maxLength: 1_000 })
      .optional()
      .describe(
        'When staff is there, in the same syntax. The rest of opening_hours is self-service.',
      ),
    holidays: holidayRegion()
      .optional()
      .describe(
        'The region whose public holidays PH means, by the law of today: some are missing (see Rules).',
      ),
  };
  const branch = z.strictObject({
    name: text('a name such as Main Library')
      .optional()
      .describe('Name in library_site_info. Default: the branch id.'),
    ...hours,
    capacity: integer(1, 1_000_000).optional().describe('How many people the branch may hold.'),
    estimate: trueOrFalse().optional().describe('Default: as for the customer.'),
  });
  const customer = z
    .strictObject({
      name: text('a name of up to 128 visible characters', { maxLength: 128 }).describe(
        'Unique; the value of the label customer.',
      ),
      client_id: text('the id from the API module tab').describe(
        "From the API module tab of the customer's configuration.",
      ),
      client_secret: opaque('the secret')
        .optional()
        .describe('The secret. Prefer client_secret_file or ${NAME}.'),
      client_secret_file: path('a file with the secret')
        .optional()
        .describe('File with the secret. It is read again when it changes.'),
      timezone: zone.optional().describe('Time zone, an IANA name. Required here or in defaults.'),
      day_starts_at: timeOfDay().optional().describe('Default: as in defaults.'),
      estimate: trueOrFalse().optional().describe('Default: as in defaults.'),
      capacity: integer(1, 1_000_000)
        .optional()
        .describe(
          'How many people the library may hold. Not with branch in breakdowns: then each branch has its own.',
        ),
      ...hours,
      labels: mapping(z.record(labelName(), text('a label value', { minLength: 0 })))
        .meta({ expected: 'labels such as { region: north }' })
        .default({})
        .describe('Labels of library_site_info.'),
      streams: listOf(MINUTE_STREAMS, 1)
        .default([...MINUTE_STREAMS])
        .describe('What is polled.'),
      breakdowns: listOf(BREAKDOWNS, 0).default([]).describe('Breakdowns of the people counts.'),
      branches: mapping(
        z.record(
          text('a branch id of up to 64 characters such as 101', { maxLength: 64 }),
          shorthand('name', 'a name such as Main Library, or a mapping', branch),
        ),
      )
        .meta({ expected: 'branch ids with names such as { 101: Main Library }' })
        .default({})
        .describe('The branches by branch id: a name, or what differs from the customer.'),
    })
    .meta({ expected: 'a customer such as { name: …, client_id: … }' });
  return z
    .strictObject({
      service: mapping(service)
        .meta({ expected: 'a mapping with base_url and auth_url' })
        .describe('The service and how to connect to it.'),
      polling: mapping(polling)
        .meta({ expected: 'a mapping with interval' })
        .prefault({})
        .describe('Polling intervals.'),
      defaults: mapping(defaults)
        .meta({ expected: 'a mapping with timezone' })
        .prefault({})
        .describe('Defaults for all customers.'),
      customers: z
        .array(mapping(customer))
        .meta({ expected: 'a list of customers' })
        .default([])
        .describe('The customers: at least one, here or in customer_files.'),
      customer_files: z
        .array(path('a file or pattern such as customers/*.yaml'))
        .meta({ expected: 'a list of files such as ["customers/*.yaml"]', harmless: true })
        .default([])
        .describe(
          'Files with lists like customers. Patterns may use *, ** and ?; they search at most 100,000 files.',
        ),
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
