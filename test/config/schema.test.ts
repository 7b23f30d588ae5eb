/** The JSON Schema for editors: it rejects nothing that the exporter accepts. */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { configJsonSchema } from '../../docs/reference/config-schema.ts';
import { ConfigError } from '../../src/base/errors.ts';
import { loadConfig } from '../../src/config/load.ts';
import { folderOf } from './folder.ts';

const ROOT = new URL('../../', import.meta.url);
const EXAMPLE = readFileSync(new URL('config.example.yaml', ROOT), 'utf8');

const ajv = new Ajv({ strict: true, strictRequired: false, strictTypes: false });
const validate = ajv.compile(configJsonSchema());

test('docs/config.schema.json is what npm run reference writes', () => {
  const file = readFileSync(new URL('docs/config.schema.json', ROOT), 'utf8');
  expect(file).toBe(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
});

test('config.example.yaml names the schema and is valid', () => {
  expect(EXAMPLE).toContain('# yaml-language-server: $schema=docs/config.schema.json\n');
  expect(validate(parse(EXAMPLE))).toBe(true);
  expect(validate(parse(EXAMPLE.replaceAll(/^( *)# (\w+: )/gm, '$1$2')))).toBe(true);
});

const ENVIRONMENT = { WORD: 'people', NUMBER: '7', ZONE: 'Europe/Paris', URL: 'https://a.example' };

/** Values of all types, valid for some key or for none. */
// prettier-ignore
const VALUES: readonly unknown[] = [
  null, true, false, 0, 1, 7, 250, -1, 0.01, 2.5, 1_001, 1e9, '', ' ', 'a', 'x'.repeat(129), 'two\nlines', '$', '$${WORD}', '${WORD}',
  '${NUMBER}', '${ZONE}', '${URL}', '${NOT_SET}', '${', 'a${WORD}b${NUMBER}', '0', '60', '60s', '1h30m', '1d', '1y', '10ms', '04:00', '24:00',
  'Europe/Copenhagen', 'US/Eastern', 'UTC', 'utc+1', 'Mars/Base', 'dk', 'DK', 'de-BY', 'dk-1', 'xx', '24/7', 'PH off',
  'https://a.example', 'https://a.example/path/', 'HTTPS://A.example:8443', 'http://a.example', 'http://localhost:1', 'http://[::1]:2',
  'https://u:p@a.example', 'https://a.example?q', 'ftp://a', 'http://u:p@proxy.example:3128', 'secret', 'more.yaml', [], ['people'],
  ['people', 'people'], ['logins', 'people'], ['branch', 'device'], ['${WORD}'], ['more.yaml'], [null], {}, { a: 'b' }, { a: '' }, { a: null },
  { a: 1 }, { a: '${WORD}' }, { customer: 'x' }, { '${WORD}': 'x' }, { 'a-b': 'x' }, { 101: 'Main' }, { '': 'x' },
  [{ name: 'a', client_id: 'a', client_secret: 'x' }], { timezone: 'Europe/Paris' }, { interval: '30s' },
];

const BASE = {
  service: { base_url: 'https://a.example', auth_url: 'https://b.example', allow_insecure: true },
  polling: {},
  defaults: { timezone: 'Europe/Copenhagen' },
  customers: [{ name: 'riverside', client_id: 'r', client_secret: 'hunter2hunter2' }],
};
/** One key of each type. */
// prettier-ignore
const KEYS = {
  '': ['polling', 'customer_files'],
  service: ['base_url', 'scope', 'timeout', 'max_concurrency', 'max_requests_per_second', 'allow_insecure', 'proxy_url'],
  defaults: ['timezone', 'day_starts_at'],
  customers: ['client_secret', 'client_secret_file', 'labels', 'streams', 'breakdowns', 'branches'],
};

function configWith(section: string, key: string, value: unknown): unknown {
  if (section === '') {
    return { ...BASE, [key]: value };
  }
  if (section !== 'customers') {
    return { ...BASE, [section]: { ...BASE[section as 'service'], [key]: value } };
  }
  const [{ client_secret: secret, ...rest } = { client_secret: '' }] = BASE.customers;
  const customer = key === 'client_secret_file' ? rest : { ...rest, client_secret: secret };
  return { ...BASE, customers: [{ ...customer, [key]: value }] };
}

describe('what the schema rejects, the exporter rejects', () => {
  const all = Object.entries(KEYS).flatMap(([section, keys]) => keys.map((key) => [section, key]));

  test.each(all)('%s %s', async (section = '', key = '') => {
    const folder = await folderOf({ secret: 'hunter2hunter2\n', 'more.yaml': '[]' });
    const path = join(folder, 'config.json');
    const rejected = VALUES.map((value) => configWith(section, key, value)).filter(
      (config) => !validate(config),
    );
    expect(rejected.length).toBeGreaterThan(0);
    expect(rejected.length).toBeLessThan(VALUES.length);
    for (const config of rejected) {
      await writeFile(path, JSON.stringify(config), { mode: 0o600 });
      await expect(loadConfig({ path, env: ENVIRONMENT })).rejects.toThrow(ConfigError);
    }
  });
});
