/**
 * The JSON Schema against the checks: whatever they accept it accepts, and whatever it accepts but
 * they do not is of a kind that it cannot tell. After a change of a key, `vitest run … --update
 * test/config/schema.test.ts` writes the file anew.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { ConfigError } from '../../src/base/errors.ts';
import { allKeys, configurationSchema } from '../../src/config/keys.ts';
import { loadConfig } from '../../src/config/load.ts';

const ROOT = new URL('../../', import.meta.url);
const CORPUS = fileURLToPath(new URL('testdata/corpus/', import.meta.url));
const FILE = fileURLToPath(new URL('docs/config.schema.json', ROOT));
const EXAMPLE = readFileSync(new URL('config.example.yaml', ROOT), 'utf8');

const validate = new Ajv({
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
  allErrors: true,
}).compile(configurationSchema());

/** What no schema can know, or only one that nobody could read. */
const BEYOND_A_SCHEMA: readonly (readonly [kind: string, line: RegExp])[] = [
  ['whether files exist, and what is in them', /: the file |: matches (no|this) file/],
  ['whether files have customers', /: customers: is empty/],
  ['the language of opening hours', /\.opening_hours: /],
  ['which time zones the running Node.js knows', /timezone: is not (a time zone|written)/],
  ['how a number is written', / in plain digits: /],
  ['how long a duration is', /: is too (short|long): /],
  ['what two values are together', /is shorter than interval|that the customers need/],
  [
    'that a name is that of another',
    /is the name of another|is the same as another key|by an alias of the whole customer/,
  ],
  ['what is no port', /base_url: is not a URL/],
  ['what characters are made of', /half of a character/],
  ['a number as a key, which parsers write in their own way', /branches\.1+: is not a branch's id/],
  ['tags and directives of YAML', /: \(YAML\): /],
];

interface Case {
  readonly name: string;
  readonly text: string;
  /** The first lines of the problems. */
  readonly problems: readonly string[];
}

const CASES: readonly Case[] = readdirSync(CORPUS, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.yaml') && name.includes('/') && !name.includes('/with'))
  .map((file) => file.slice(0, -'.yaml'.length))
  .toSorted()
  .map((name) => ({
    name,
    text: readFileSync(join(CORPUS, `${name}.yaml`), 'utf8'),
    problems: readFileSync(join(CORPUS, `${name}.txt`), 'utf8').match(/^\S+:\d+:\d+: .*$/gm) ?? [],
  }));

/** As an editor reads it; undefined where it is not YAML, which an editor says by itself. */
function read(text: string): { readonly value: unknown } | undefined {
  const document = parseDocument(text, { logLevel: 'silent' });
  try {
    return document.errors.length > 0 ? undefined : { value: document.toJS() };
  } catch {
    return undefined;
  }
}

function isBeyond({ name, problems }: Case): boolean {
  // What the environment holds is not in the file, and neither is what stands in another one.
  const own = `${name.slice(name.indexOf('/') + 1)}.yaml`;
  return (
    name.startsWith('environment/') ||
    problems.every(
      (line) => !line.startsWith(own) || BEYOND_A_SCHEMA.some(([, kind]) => kind.test(line)),
    )
  );
}

test('the file that is shipped is what the keys say', async () => {
  await expect(`${JSON.stringify(configurationSchema(), null, 2)}\n`).toMatchFileSnapshot(FILE);
});

test('the example names the file for editors, and is good by it', () => {
  const name = /^# yaml-language-server: \$schema=(\S+)$/m.exec(EXAMPLE)?.[1];
  expect(fileURLToPath(new URL(name ?? '', ROOT))).toBe(FILE);
  const everything = EXAMPLE.replaceAll(/^( *)# (\w+: )/gm, '$1$2');
  for (const text of [EXAMPLE, everything]) {
    expect(validate(read(text)?.value)).toBe(true);
  }
});

test('every key is in it, with its line', () => {
  const schema = JSON.stringify(configurationSchema());
  for (const [path, { about }] of allKeys()) {
    expect(schema).toContain(`"${path.split('.').at(-1)}":{"description":${JSON.stringify(about)}`);
  }
});

describe('of the corpus of mistakes', () => {
  const readable = CASES.map((one) => ({ one, parsed: read(one.text) })).filter(
    ({ parsed }) => parsed !== undefined,
  );
  const accepted = readable.filter(({ parsed }) => validate(parsed?.value)).map(({ one }) => one);

  test('the schema refuses all but those that it cannot tell', () => {
    expect(readable.length - accepted.length).toBeGreaterThan(200);
    expect(accepted.filter((one) => !isBeyond(one)).map(({ name }) => name)).toEqual([]);
  });

  test('each kind that it cannot tell is there', () => {
    const unused = BEYOND_A_SCHEMA.filter(
      ([, kind]) => !accepted.some(({ problems }) => problems.some((line) => kind.test(line))),
    );
    expect(unused).toEqual([]);
  });
});

const ENVIRONMENT = { WORD: 'people', NUMBER: '7', ZONE: 'Europe/Paris', URL: 'https://a.example' };

/** Values of every type, good for some key or for none. */
// prettier-ignore
const VALUES: readonly unknown[] = [
  null, true, false, 0, 1, 7, 250, -1, 0.01, 2.5, 1_001, 1e9, '', ' ', 'a', 'x'.repeat(129), 'x'.repeat(5_000),
  'two\nlines', '$', '$$', '$(x)', '$${WORD}', '${WORD}', '${NUMBER}', '${ZONE}', '${URL}', '${NOT_SET}', '${', '${}', '${WORD:-a}',
  '$$${WORD}', 'a${WORD}b${NUMBER}', '0', '60', '60s', '1h30m', '1d', '1y', '10ms', '30m1h', '04:00', '23:59', '24:00', '4:00',
  'Europe/Copenhagen', 'US/Eastern', 'UTC', 'Etc/GMT+5', 'utc+1', '+01:00', 'Mars/Base', 'dk', 'DK', 'de-BY', 'dk-1', 'xx',
  'Mo-Fr 08:00-20:00', '24/7', 'PH off', 'https://a.example', 'https://a.example/path/', 'HTTPS://A.example:8443', 'http://a.example',
  'http://localhost:1', 'http://x.LOCALHOST/', 'http://127.1', 'http://[::1]:2', 'http://0x7f.1', 'https://u:p@a.example',
  'https://a.example/v1', 'https://a.example/v1/', 'https://a.example/connect/token', 'https://a.example?q', 'ftp://a', 'https://',
  'http://u:p@proxy.example:3128', 'ca.pem', 'secret', 'more/*.yaml', [], ['people'], ['people', 'people'], ['logins', 'people'],
  ['branch', 'device'], ['${WORD}'], ['more.yaml'], [null], [{}], {}, { a: 'b' }, { a: '' }, { a: null }, { a: 1 }, { a: '${WORD}' },
  { customer: 'x' }, { __a: 'x' }, { '${WORD}': 'x' }, { '${NUMBER}': 'x' }, { 'a-b': 'x' }, { 101: 'Main' }, { '': 'x' },
  { base_url: 'https://a.example', auth_url: '${URL}' },
  [{ name: 'a', client_id: 'a', client_secret: 'hunter2hunter2' }], { timezone: 'Europe/Paris' }, { timezone: null }, { interval: '30s' }, { scope: 'x' },
];

describe('whatever the checks accept', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'schema-test-'));
    const pem = readFileSync(new URL('testdata/ca.pem', import.meta.url));
    const more = '- { name: more, client_id: m, client_secret: hunter3hunter3, timezone: UTC }\n';
    await writeFile(join(folder, 'ca.pem'), pem);
    await writeFile(join(folder, 'secret'), 'hunter2hunter2\n', { mode: 0o600 });
    await writeFile(join(folder, 'more.yaml'), more);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function isAccepted(name: string, config: unknown): Promise<boolean> {
    const path = join(folder, `${name}.config`);
    await writeFile(path, JSON.stringify(config));
    try {
      await loadConfig({ path, env: ENVIRONMENT });
      return true;
    } catch (error) {
      if (error instanceof ConfigError) {
        return false;
      }
      throw error;
    }
  }

  test.each([...allKeys().keys()])(
    'under %s, the schema accepts',
    { timeout: 120_000 },
    async (path) => {
      const parts = path.split('.');
      const key = parts.at(-1) ?? '';
      const section = parts.length === 1 ? '' : (parts[0] ?? '');
      let good = 0;
      for (const value of VALUES) {
        for (const config of [
          configWith(section, key, value),
          ...othersWith(section, key, value),
        ]) {
          const accepted = await isAccepted(path, config);
          good += accepted ? 1 : 0;
          expect([config, !accepted || validate(config)]).toEqual([config, true]);
        }
      }
      expect(good).toBeGreaterThan(0);
    },
  );
});

type Section = Readonly<Record<string, unknown>>;

function configWith(section: string, key: string, value: unknown): Section {
  const base = {
    service: { base_url: 'https://a.example', auth_url: 'https://b.example' },
    polling: {},
    defaults: { timezone: 'Europe/Copenhagen' },
    customers: [{ name: 'riverside', client_id: 'r', client_secret: 'hunter2hunter2' }],
  };
  function merged(name: string, part: Section): Section {
    return section === name ? { ...part, [key]: value } : part;
  }
  const config = {
    service: merged('service', base.service),
    polling: merged('polling', base.polling),
    defaults: merged('defaults', base.defaults),
    customers: base.customers.map((one) => merged('customers[]', one)),
  };
  return section === '' ? { ...config, [key]: value } : config;
}

/** Where a key means something only beside, or without, another one. */
function othersWith(section: string, key: string, value: unknown): readonly Section[] {
  const config = configWith(section, key, value);
  if (key === 'client_secret_file') {
    const customers = [{ name: 'riverside', client_id: 'r', [key]: value }];
    return [{ ...config, customers }];
  }
  if (key === 'customer_files') {
    const { customers: _, ...rest } = config;
    return [rest, { ...config, customers: [] }];
  }
  if (key === 'base_url' || key === 'auth_url') {
    const urls = { base_url: 'https://a.example', auth_url: 'https://b.example' };
    return [{ ...config, service: { ...urls, [key]: value, allow_insecure: true } }];
  }
  if (section === '' && key === 'defaults') {
    const own = { name: 'a', client_id: 'a', client_secret: 'hunter2hunter2', timezone: 'UTC' };
    return [{ ...config, customers: [own] }];
  }
  return [];
}
