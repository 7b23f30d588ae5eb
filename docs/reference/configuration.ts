/** configuration.md: every key of both configurations, from the tables that the checks read. */
import { CUSTOMER_KEYS } from '../../src/config/customer-keys.ts';
import { DEFAULTS_KEYS, POLLING_KEYS, SERVICE_KEYS, TOP_KEYS } from '../../src/config/keys.ts';
import type { KeyTable } from '../../src/config/mapping.ts';
import { HEADER_KEYS, HTTP_KEYS, TLS_KEYS, WEB_KEYS } from '../../src/config/web-keys.ts';
import { code, listed, table, typed } from './markdown.ts';

/** What a changed value interrupts, by key; the other keys of the part have `others`. */
type Effects = Readonly<Record<string, string>> & { readonly others: string };

const AT_ONCE = 'at once';
const AGAIN = 'its figures are absent until they were read again';

const POLLING: Effects = { others: 'polling begins again, figures stay' };
const SERVICE: Effects = {
  base_url: 'all figures are absent until they were read there',
  ...POLLING,
};
const DEFAULTS: Effects = { others: 'as of the customers that it counts for' };
const CUSTOMER: Effects = {
  name: 'another customer, whose counters have no memory of this one',
  client_id: AGAIN,
  timezone: `${AGAIN}; the running epoch stays`,
  day_starts_at: `${AGAIN}; the running epoch stays`,
  streams: AGAIN,
  client_secret_file: 'at once; a changed file is read without a reload',
  others: AT_ONCE,
};
const TOP: Effects = { others: 'as its keys' };

export function configurationPage(): string {
  return `# Configuration

The file that \`--config.file\` names. [config.example.yaml](../../config.example.yaml) shows every key in its
place, and [config.schema.json](../config.schema.json) lets an editor complete and check it.

- \`\${NAME}\` in any value stands for the environment variable; an unset one is a problem. \`$\${\` is a
  literal \`\${\`, and a lone \`$\` is itself.
- Durations are Prometheus's: \`90s\`, \`5m\`, \`1h30m\`. Paths are relative to the file that names them.
- Unknown keys, keys that are there twice and wrong types are problems. All are told at once, by
  \`library-stats-exporter check\`.
- A change counts from the next reload on, which is asked for by SIGHUP or \`/-/reload\`, or comes by
  itself with \`--config.auto-reload-interval\`. Nothing here needs a restart, and a bad configuration
  changes nothing. The last column says what a changed value interrupts. The flags of the [command line](command-line.md) need a restart.

## Top

${keys(TOP_KEYS, TOP)}

## \`service\`

${keys(SERVICE_KEYS, SERVICE)}

Other than on loopback, \`base_url\` and \`auth_url\` must be https, but with \`allow_insecure\`.

## \`polling\`

${keys(POLLING_KEYS, POLLING)}

\`reconcile_interval\` is at least \`interval\`.

## \`defaults\`

${keys(DEFAULTS_KEYS, DEFAULTS)}

## \`customers\`

Each entry, here and in the files under \`customer_files\`.

${keys(CUSTOMER_KEYS, CUSTOMER)}

One of \`client_secret\` and \`client_secret_file\` is required, and both together are a problem. \`PH\` in
\`opening_hours\` needs \`holidays\`. Labels must not be \`customer\`, \`timezone\`, \`job\` or \`instance\`, nor begin
with \`__\`.

## The web configuration

The file that \`--web.config.file\` names, as Prometheus's own exporters take it;
[web-configuration.md](../web-configuration.md) explains it. It is read again by itself when it or a file
that it names changes. Whether the port speaks http or https, and \`client_auth_type\`, need a restart.

### Top of the web configuration

${keys(WEB_KEYS)}

### \`tls_server_config\`

${keys(TLS_KEYS)}

### \`http_server_config\`

${keys(HTTP_KEYS)}

### \`headers\` in \`http_server_config\`

${keys(HEADER_KEYS)}
`;
}

function keys(rules: KeyTable, effects?: Effects): string {
  const all = Object.entries(rules);
  const refused = all.filter(
    ([, { shape }]) => shape.schema['not'] !== undefined && isRefused(shape),
  );
  const rows = all
    .filter((entry) => !refused.includes(entry))
    .map(([key, rule]) => [
      code(key),
      typed(rule.shape.expects),
      standardOf(rule),
      typed(rule.about),
      ...(effects === undefined ? [] : [effects[key] ?? effects.others]),
    ]);
  const head = ['key', 'value', 'default', 'meaning'];
  const note =
    refused.length === 0
      ? ''
      : `\nNot supported, and refused in words: ${listed(refused.map(([key]) => key))}.\n`;
  return table(effects === undefined ? head : [...head, 'when it changes'], rows) + note;
}

/** A key that is known only to be refused has the schema that nothing fits. */
function isRefused({ schema }: KeyTable[string]['shape']): boolean {
  return JSON.stringify(schema) === '{"not":{}}';
}

function standardOf(rule: KeyTable[string]): string {
  if (rule.required === true) {
    return '**required**';
  }
  const { default: standard } = rule;
  const values = Array.isArray(standard) ? standard : [standard];
  return values
    .filter(isPlain)
    .map((one) => code(String(one)))
    .join(', ');
}

/** An empty mapping is as good as none. */
function isPlain(value: unknown): value is string | number | boolean {
  return value !== undefined && typeof value !== 'object';
}
