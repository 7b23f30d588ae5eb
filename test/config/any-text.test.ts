/** Any text in place of a YAML file: a configuration, or problems with their places, and no other error. */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { loadWebConfig } from '../../src/config/web.ts';
import { folderOf, problemsIn } from './folder.ts';

/** What has a meaning in YAML or here. */
const INSERTED = [
  ['\n', '\r', '\t', ' ', '    ', '\0', '\xc2\xa0', '\xff', '[', ']', '{', '}', ',', ':', ': '],
  ['- ', '? ', '"', "'", '|\n', '>-\n', '#', ' # ', '~', '&a ', '*a', '<<: *a', '!', '!!str '],
  ['%', '%YAML 1.1\n', '@', '\\', '"\\q"', '---\n', '...\n', '${', '${HILLSIDE_SECRET}', '$${'],
  ['null', 'true', '0', '1e3', '0x1', 'x', 'x: y\n', '__proto__: ', 'constructor: '],
].flat();
/** Into characters, words and lines. */
const SPLITS = [/(?:)/, /(?<=[\s:,[\]{}"'#*/;-])|(?=[\s:,[\]{}"'#*/;-])/, /(?<=\n)/] as const;

const anyChange = fc.record({
  split: fc.constantFrom(...SPLITS),
  at: fc.nat(10_000),
  remove: fc.integer({ min: 0, max: 4 }),
  insert: fc.oneof(fc.constantFrom('', ...INSERTED), fc.string({ maxLength: 3 })),
});

/** Returns `text` after up to four changes. Characters stand for bytes. */
function changesOf(text: string): fc.Arbitrary<string> {
  return fc.array(anyChange, { maxLength: 4 }).map((changes) =>
    changes.reduce((changed, { split, at, remove, insert }) => {
      const parts = changed.split(split);
      parts.splice(at % parts.length, remove, insert);
      return parts.join('');
    }, text),
  );
}

const HASH = '$2y$10$X0h1gDsPszWURqaxFh.zoubFi6DXncSjhoqNjgRrnGs7EsimhC7zG';
const EXAMPLE = readFileSync(new URL('../../config.example.yaml', import.meta.url), 'latin1')
  // They take most of the time.
  .replaceAll(/^ *(?:opening|staffed)_hours: .*\n/gm, '');

/** The file, a valid text of it, what reads it, and how many texts are drawn. */
const FILES = [
  ['config.yaml', EXAMPLE, loadConfig, 40],
  ['web.yaml', `basic_auth_users:\n  prometheus: ${HASH}\n`, loadWebConfig, 60],
] as const;

test.each(FILES)('%s', async (name, valid, load, numRuns) => {
  const folder = await folderOf({
    'secrets/riverside': 'hunter3hunter3\n',
    'secrets/northern-jutland': 'hunter4hunter4\n',
  });
  const anyBytes = fc.oneof(
    { weight: 4, arbitrary: changesOf(valid).map((text) => Buffer.from(text, 'latin1')) },
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  );
  let loaded = 0;
  await fc.assert(
    fc.asyncProperty(anyBytes, async (bytes) => {
      await writeFile(join(folder, name), bytes);
      const env = { HILLSIDE_SECRET: 'hunter5hunter5' };
      const problems = await problemsIn(load({ path: join(folder, name), env }));
      if (problems === 'no problem') {
        loaded += 1;
        return;
      }
      for (const line of problems.split('\n').filter((one) => !one.startsWith('  '))) {
        // A file that is not UTF-8 has no lines.
        expect(line).toMatch(/^\w+\.yaml(?:: \S+ is|:[1-9]\d*:[1-9]\d*: \S+:) \S/);
        const [, row = '1'] = /^\S+?\.yaml:(\d+)/.exec(line) ?? [];
        expect(Number(row)).toBeLessThanOrEqual(bytes.toString('latin1').split('\n').length);
      }
    }),
    { seed: 46, numRuns },
  );
  // Both of them are tested.
  expect(loaded).toBeGreaterThan(0);
  expect(loaded).toBeLessThan(numRuns / 2);
});
