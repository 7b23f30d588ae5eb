/**
 * config.example.yaml with a few things changed at random: it loads, and then as a second reader
 * understands it; or it is refused with its problems. Never anything else, and never a secret.
 *
 * Left out are changes that move or copy the text of the secret itself away from its key, put another
 * known key before it, or leave nothing of its own: then it is no longer known as a secret.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ConfigError } from '../../src/base/errors.ts';
import { allKeys } from '../../src/config/keys.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { LoadedConfig } from '../../src/config/load.ts';
import type { Config } from '../../src/config/types.ts';
import { folderOf } from './folder.ts';
import { strictReading } from './strict-reading.ts';
import type { AggregatedResponse } from './strict-reading.ts';

/** Of letters that are nowhere else in the file or in a message: three of them in a row are a leak. */
const SECRET = 'QZJJ-ZQJZ8JZQJZQ';
const SECRET_LETTERS = /[QZJ]/;
const LEAK = /[QZJ]{3}/;
const UNIT = `client_secret: ${SECRET}`;

const EXAMPLE = await readFile(new URL('../../config.example.yaml', import.meta.url), 'latin1');
const AS_IT_IS = EXAMPLE.replace('client_secret: ${HILLSIDE_SECRET}', UNIT);
/** With the defaults in its comments written out. */
const WHOLE = AS_IT_IS.replaceAll(/^( *)# (\w+: )/gm, '$1$2');
const MORE = '- { name: more, client_id: m, client_secret: ZZQQ, timezone: UTC }\n';
const FILES = {
  'secrets/riverside': 'ZZQQJJQZ\n',
  'ca.pem': await readFile(new URL('testdata/ca.pem', import.meta.url), 'utf8'),
  'customers/more.yaml': MORE,
};
const ENVIRONMENT = { HILLSIDE_SECRET: 'JJJQQQ' };

/** The same each time; another seed, and more runs, find other changes. */
const RUNS = { seed: 3, numRuns: 400 };

const KEYS = Array.from(allKeys().keys(), (path) => path.slice(path.lastIndexOf('.') + 1));

/** What a slip of the hand puts into a file, and what makes YAML mean something else. */
const SYNTAX = [
  ['\n', '\r', '\r\n', '\t', ' ', '    ', '\0', '\x7f', '\xc2\xa0', '\xef\xbb\xbf', '\xff'],
  ['[', ']', '{', '}', ',', ':', ': ', '- ', '? ', '"', "'", '|\n', '>-\n', '#', ' # ', '~'],
  ['&a ', '*a', '&a\n', '*a : ', '<<: *a', '!', '!!str ', '!!map ', '!x ', '%', '%YAML 1.1\n'],
  ['@', '`', '\\', '"\\q"', '---\n', '...\n', '${', '${HILLSIDE_SECRET}', '${NONE}', '$${'],
  ['null', 'true', '0', '-1', '1e3', '.nan', '0x1', 'x', 'x: y\n', '__proto__: ', 'constructor: '],
].flat();

const PARTS = {
  bytes: /(?:)/,
  tokens: /(?<=[\s:,[\]{}"'#*/;-])|(?=[\s:,[\]{}"'#*/;-])/,
  lines: /(?<=\n)/,
} as const;

const change = fc.record({
  by: fc.constantFrom('bytes' as const, 'tokens' as const, 'lines' as const),
  act: fc.constantFrom(
    'delete' as const,
    'duplicate' as const,
    'swap' as const,
    'insert' as const,
    'replace' as const,
  ),
  at: fc.nat(10_000),
  to: fc.nat(10_000),
  length: fc.integer({ min: 1, max: 4 }),
  text: fc.oneof(
    fc.constantFrom(...SYNTAX),
    fc.integer({ min: 0, max: 255 }).map((byte) => String.fromCharCode(byte)),
  ),
});

/** The text after a change, or as it was where the change is one of those that are left out. */
function changed(text: string, { by, act, at, to, length, text: put }: Change): string {
  const parts = text.split(PARTS[by]);
  const start = at % parts.length;
  const other = to % parts.length;
  const taken = parts.slice(start, start + length).join('');
  switch (act) {
    case 'delete':
      parts.splice(start, length);
      break;
    case 'insert':
      parts.splice(start, 0, put);
      break;
    case 'replace':
      parts.splice(start, 1, put);
      break;
    case 'duplicate':
      if (tears(taken)) {
        return text;
      }
      parts.splice(other, 0, taken);
      break;
    case 'swap':
      if (tears(parts[start] ?? '') || tears(parts[other] ?? '')) {
        return text;
      }
      [parts[start], parts[other]] = [parts[other] ?? '', parts[start] ?? ''];
  }
  return parts.join('');
}

type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

/** Whether this would be moved away from its key. */
function tears(part: string): boolean {
  return SECRET_LETTERS.test(part.replaceAll(UNIT, ''));
}

/** Whether the secret is the value of another known key by now, or nothing is left of its own. */
function isElsewhere(text: string): boolean {
  const first = text.search(SECRET_LETTERS);
  const isLoose =
    first !== -1 &&
    !/(?<!_)client_s(?!ecret_file)|secret(?!_file)/.test(
      text.slice(Math.max(0, first - 20), first),
    );
  return (
    isLoose ||
    text.split('\n').some((line) => {
      const secret = line.search(SECRET_LETTERS);
      const key = /([\w-]+)["']?\s*:[^:]*$/.exec(line.slice(0, Math.max(0, secret)))?.[1];
      return key !== undefined && key !== 'client_secret' && KEYS.includes(key);
    })
  );
}

test('the letters of the secret are nowhere else', () => {
  for (const text of [AS_IT_IS, WHOLE]) {
    expect(text.split(UNIT)).toHaveLength(2);
    expect(tears(text)).toBe(false);
  }
});

/** As a second reader sees it, without what has no key in the file. */
function plain(
  { service, polling, customers }: Config,
  given: AggregatedResponse,
): AggregatedResponse {
  const { maxRequestsPerSecond, ...rest } = service;
  return {
    service: 'maxRequestsPerSecond' in given.service ? { ...rest, maxRequestsPerSecond } : rest,
    polling: { ...polling },
    customers: customers
      .filter(({ name }) => name !== 'more')
      .map(({ clientSecret, streams, breakdowns, labels, branches, ...customer }) => ({
        ...customer,
        secret: clientSecret.secret.reveal(),
        streams: streams.toSorted(),
        breakdowns: breakdowns.toSorted(),
        labels: { ...labels },
        branches: { ...branches },
      })),
  };
}

test.each([
  ['as it is', AS_IT_IS],
  ['with its comments as keys', WHOLE],
])(
  'the example %s, changed at random, is understood or refused',
  async (_which, text) => {
    const folder = await folderOf(FILES);
    const path = join(folder, 'config.yaml');
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
        const binary = changes.reduce(changed, text);
        fc.pre(!isElsewhere(binary));
        const bytes = Buffer.from(binary, 'latin1');
        await writeFile(path, bytes);
        const loaded = await loadConfig({ path, env: ENVIRONMENT }).catch(
          (error: unknown) => error,
        );
        const told = loaded instanceof ConfigError ? loaded.message : JSON.stringify(loaded);
        expect(told).not.toMatch(LEAK);
        if (loaded instanceof ConfigError) {
          return /^\S+:\d+:\d+: .+: .+/.test(told);
        }
        const { config } = loaded as LoadedConfig;
        const given = strictReading(new TextDecoder().decode(bytes), path, ENVIRONMENT);
        expect(plain(config, given)).toEqual(given);
        return true;
      }),
      RUNS,
    );
  },
  120_000,
);
