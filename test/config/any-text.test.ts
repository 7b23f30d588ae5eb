/** Any text in place of a YAML file: a configuration, or problems with their places, and no other error. */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { loadWebConfig } from '../../src/config/web.ts';
import { configWith, folderOf, problemsIn } from './folder.ts';

const INSERTED = [
  ['\n', '\r', '\t', ' ', '    ', '\0', '\xc2\xa0', '\xff', '[', ']', '{', '}', ',', ':', ': '],
  ['- ', '? ', '"', "'", '|\n', '>-\n', '#', ' # ', '~', '&a ', '*a', '<<: *a', '!', '!!str '],
  ['%', '%YAML 1.1\n', '@', '\\', '"\\q"', '---\n', '...\n', '${', '${HILLSIDE_SECRET}', '$${'],
  ['null', 'true', '0', '1e3', '0x1', 'x', 'x: y\n', '__proto__: ', 'constructor: '],
].flat();
const SPLITS = [/(?:)/, /(?<=[\s:,[\]{}"'#*/;-])|(?=[\s:,[\]{}"'#*/;-])/, /(?<=\n)/] as const;

const anyChange = fc.record({
  split: fc.constantFrom(...SPLITS),
  at: fc.nat(10_000),
  remove: fc.integer({ min: 0, max: 4 }),
  insert: fc.oneof(fc.constantFrom('', ...INSERTED), fc.string({ maxLength: 3 })),
});

/** Returns `text` after one to four changes. Characters stand for bytes. */
function changesOf(text: string): fc.Arbitrary<string> {
  return fc.array(anyChange, { minLength: 1, maxLength: 4 }).map((changes) =>
    changes.reduce((changed, { split, at, remove, insert }) => {
      const parts = changed.split(split);
      parts.splice(at % parts.length, remove, insert);
      return parts.join('');
    }, text),
  );
}

/** Texts of what YAML is made of, without an order. */
const anyYaml = fc
  .array(fc.constantFrom('service', 'customers', '  ', '\n', ...INSERTED), { maxLength: 40 })
  .map((tokens) => tokens.join(''));

const HASH = '$2y$10$X0h1gDsPszWURqaxFh.zoubFi6DXncSjhoqNjgRrnGs7EsimhC7zG';
const EXAMPLE = readFileSync(new URL('../../config.example.yaml', import.meta.url), 'latin1')
  // They take most of the time.
  .replaceAll(/^ *(?:opening|staffed)_hours: .*\n/gm, '');
const CUSTOMER = 'client_secret: hunter2hunter2, timezone: UTC, breakdowns: [branch]';

/** The file, a valid text of it, the file that reads it, and how many texts are drawn. */
const FILES = [
  ['config.yaml', EXAMPLE, 'config.yaml', 40],
  ['more.yaml', `- { name: hillside, client_id: b, ${CUSTOMER} }\n`, 'main.yaml', 60],
  ['web.yaml', `basic_auth_users:\n  prometheus: ${HASH}\n`, 'web.yaml', 60],
] as const;

test.each(FILES)('%s', async (name, valid, main, numRuns) => {
  const folder = await folderOf({
    'main.yaml': configWith({ more: 'customer_files: [more.yaml]' }),
    'secrets/riverside': 'hunter3hunter3\n',
    'secrets/northern-jutland': 'hunter4hunter4\n',
  });
  const load = main === 'web.yaml' ? loadWebConfig : loadConfig;
  const anyBytes = fc.oneof(
    fc.constant(Buffer.from(valid, 'latin1')),
    { weight: 4, arbitrary: changesOf(valid).map((text) => Buffer.from(text, 'latin1')) },
    anyYaml.map((text) => Buffer.from(text, 'latin1')),
    fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  );
  let loaded = 0;
  await fc.assert(
    fc.asyncProperty(anyBytes, async (bytes) => {
      await writeFile(join(folder, name), bytes);
      const env = { HILLSIDE_SECRET: 'hunter5hunter5' };
      const problems = await problemsIn(load({ path: join(folder, main), env }));
      if (problems === 'no problem') {
        loaded += 1;
        return;
      }
      for (const line of problems.split('\n').filter((one) => !one.startsWith('  '))) {
        // A file that is not UTF-8 has no lines.
        expect(line).toMatch(/^\w+\.yaml(?:: \S+ is|:[1-9]\d*:[1-9]\d*: \S+:) \S/);
        const [, file, row = '1'] = /^(\S+?\.yaml):(\d+)/.exec(line) ?? [];
        const rows = file === name ? bytes.toString('latin1').split('\n').length : 100;
        expect(Number(row)).toBeLessThanOrEqual(rows);
      }
    }),
    { seed: 46, numRuns },
  );
  // Both of them are tested.
  expect(loaded).toBeGreaterThan(0);
  expect(loaded).toBeLessThan(numRuns / 2);
});
