/** docs/reference/configuration.md: every key of both configurations, from their schemas. */
import { z } from 'zod';
import { createConfigSchema } from '../../src/config/schema.ts';
import { HOLIDAY_REGIONS } from '../../src/counting/calendar/opening-hours.ts';
import { innerType, metaOf } from '../../src/config/values.ts';
import { createWebSchema } from '../../src/config/web.ts';
import { code, table, typed } from './markdown.ts';

/** What a change interrupts, by key; `others` is for all other keys. */
type Effects = Readonly<Record<string, string>> & { readonly others: string };

const AT_ONCE = 'at once';
const AGAIN = 'its values are absent until they are read again';

const POLLING: Effects = { others: 'polling restarts, values stay' };
const SERVICE: Effects = {
  base_url: 'all values are absent until they are read from there',
  request_times: 'all values are absent until they are read again',
  key_times: 'all values are absent until they are read again',
  ...POLLING,
};
const DEFAULTS: Effects = { others: 'as in customers, for those that use it' };
const CUSTOMER: Effects = {
  name: 'new series, with the same totals',
  client_id: AGAIN,
  timezone: `${AGAIN}; the counting period stays`,
  day_starts_at: `${AGAIN}; the counting period stays`,
  streams: AGAIN,
  client_secret_file:
    'at once; a changed file is read without a reload (with systemd: after a restart)',
  others: AT_ONCE,
};
const TOP: Effects = { others: 'as its keys' };

export function configurationPage(): string {
  const config = createConfigSchema();
  const { service, polling, defaults, customers } = config.shape;
  const web = createWebSchema();
  return `# Configuration

The file that \`--config.file\` names. [config.example.yaml](../../config.example.yaml) shows every key in its
place, and [config.schema.json](../config.schema.json) lets an editor complete and check it.

- \`\${NAME}\` in any value stands for the environment variable; an unset one is a problem. \`$\${\` is a
  literal \`\${\`, and a lone \`$\` is itself.
- Numbers are decimal. Quotes make no difference: \`4\` and \`"4"\` are the same number, and
  \`client_id: 0123\` is \`0123\`. \`yes\` and \`on\` are not \`true\`.
- Durations are Prometheus's: \`90s\`, \`5m\`, \`1h30m\`. Paths are relative to the file that names them.
- Unknown keys, duplicate keys and wrong types are problems. \`library-stats-exporter check\` reports all
  problems at once, with line and column. A message or a source line never shows a secret.
- A change takes effect at the next reload: by SIGHUP, by \`/-/reload\`, or automatically with
  \`--config.auto-reload-interval\`. An invalid configuration changes nothing. The last column says what a
  change interrupts. Only the flags of the [command line](command-line.md) need a restart.

## Top

${keys(config, TOP)}

## \`service\`

${keys(service, SERVICE)}

\`base_url\` and \`auth_url\` must use https, except on loopback and with \`allow_insecure: true\`.

## \`polling\`

${keys(polling, POLLING)}

\`reconcile_interval\` is at least \`interval\`.

## \`defaults\`

${keys(defaults, DEFAULTS)}

## \`customers\`

Each entry, here and in the files under \`customer_files\`.

${keys(customers, CUSTOMER)}

### \`branches\`

Each branch, by the service's branch id: a name, or a mapping with these keys. All but \`name\` need \`branch\` in
\`breakdowns\`. A branch without \`opening_hours\`, \`staffed_hours\`, \`holidays\` or \`estimate\` has those of
its customer.

${keys(branchOf(customers), { others: AT_ONCE })}

### Rules

Exactly one of \`client_secret\` and \`client_secret_file\` is required. \`PH\` in hours needs
\`holidays\`. A comment in \`opening_hours\` is ignored, which is a warning: hours with staff are \`staffed_hours\`. \`breakdowns\` need \`people\` in \`streams\`. Labels must not be \`customer\`, \`timezone\`, \`job\` or
\`instance\`, nor begin with \`__\`.

\`holidays\` knows the countries ${[...HOLIDAY_REGIONS.keys()].join(', ')}, and states of some of them. The list is that of the
[opening_hours](https://github.com/opening-hours/opening_hours.js) library. It is today's law, also for past years, and a
few days are missing or wrong: \`lu\` lacks 9 May, and days that were held once may be missing. Compare a year with your
calendar. Hours add a day by \`; May 09 off\`, or \`; 2026 May 09 off\` for one year, and open on a holiday by
\`; May 09 08:00-20:00\`, both after \`PH off\`.

Rules of hours are separated by \`;\`: a text that lacks one is a problem, because it would mean all times on all days.

A file with a secret that others can read is a warning.

## The web configuration

The file that \`--web.config.file\` names, as Prometheus's own exporters take it;
[Access control and TLS](../operations.md#access-control-and-tls) explains it. It is read again when it or a file that
it names changes. Whether the port speaks http or https, and \`client_auth_type\`, need a restart.

### Top of the web configuration

${keys(web)}

### \`tls_server_config\`

${keys(web.shape.tls_server_config)}

Every other key of exporter-toolkit is a problem.
`;
}

/** The mapping that describes a branch of a customer. */
function branchOf(customers: z.ZodType): z.ZodType {
  const customer = innerType((innerType(customers) as z.ZodArray).element as z.ZodType);
  const { branches } = (customer as z.ZodObject).shape;
  return (innerType(branches as z.ZodType) as z.ZodRecord).valueType as z.ZodType;
}

/** A table of the keys of an object, or of the objects in a list. */
function keys(type: z.ZodType, effects?: Effects): string {
  const inner = innerType(type);
  const object = inner instanceof z.ZodArray ? innerType(inner.element as z.ZodType) : inner;
  const shape: Readonly<Record<string, z.ZodType>> =
    object instanceof z.ZodObject ? object.shape : {};
  const rows = Object.entries(shape).map(([key, value]) => [
    code(key),
    typed(metaOf(value).expected ?? ''),
    defaultOf(value),
    typed(metaOf(value).description ?? ''),
    ...(effects === undefined ? [] : [effects[key] ?? effects.others]),
  ]);
  const head = ['key', 'value', 'default', 'meaning'];
  return table(effects === undefined ? head : [...head, 'effect of a change'], rows);
}

function defaultOf(type: z.ZodType): string {
  if (!type.safeParse(undefined).success) {
    return '**required**';
  }
  const value: unknown = type.safeParse(undefined).data;
  return (Array.isArray(value) ? value : [value])
    .filter((one) => one !== undefined && typeof one !== 'object')
    .map((one) => code(String(one)))
    .join(', ');
}
