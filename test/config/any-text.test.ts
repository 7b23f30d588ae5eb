/** Any text in place of a YAML file: a configuration, or problems with their places, and no other error. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { loadWebConfig } from '../../src/config/web.ts';
import { anyYaml, changesOf } from './changes.ts';
import { configWith, folderOf, problemsIn } from './folder.ts';

const HASH = '$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG';
const CUSTOMER = 'client_secret: hunter2hunter2, timezone: UTC, breakdowns: [branch]';
const CONFIG = configWith({
  service: 'request_times: utc\nmax_concurrency: 4',
  polling: 'interval: 2m # as often as this',
  customer: 'labels: { region: "${REGION}" }\nday_starts_at: 05:00\nstreams: [people]',
});

/** The file, a valid text of it, and a file that reads it. */
const FILES = [
  ['config.yaml', CONFIG, 'config.yaml'],
  ['more.yaml', `- { name: hillside, client_id: b, ${CUSTOMER} }\n`, 'config.yaml'],
  ['web.yaml', `basic_auth_users:\n  prometheus: ${HASH}\n`, 'web.yaml'],
] as const;

test.each(FILES)('%s', async (name, valid, main) => {
  const folder = await folderOf({
    'config.yaml': configWith({ more: 'customer_files: [more.yaml]' }),
  });
  const load = main === 'web.yaml' ? loadWebConfig : loadConfig;
  const env = { REGION: 'north' };
  const anyBytes = fc.oneof(
    { weight: 4, arbitrary: changesOf(valid).map((text) => Buffer.from(text, 'latin1')) },
    anyYaml.map((text) => Buffer.from(text, 'latin1')),
    fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  );
  let loaded = 0;
  let rejected = 0;
  await fc.assert(
    fc.asyncProperty(anyBytes, async (bytes) => {
      await writeFile(join(folder, name), bytes);
      const problems = await problemsIn(load({ path: join(folder, main), env }));
      if (problems === 'no problem') {
        loaded += 1;
        return;
      }
      rejected += 1;
      const lines = problems.split('\n').filter((line) => !line.startsWith('  '));
      expect(lines).not.toEqual([]);
      for (const line of lines) {
        // A file that is not UTF-8 has no lines.
        const [, file, row = '1', column = '1'] =
          /^(\w+\.yaml)(?:: \S+ is|:(\d+):(\d+): (?:\S+):) \S.*$/u.exec(line) ?? [];
        expect({ line, isPlace: file !== undefined && Number(column) > 0 }).toEqual({
          line,
          isPlace: true,
        });
        const rows = file === name ? bytes.toString('latin1').split('\n').length : 100;
        expect(Number(row)).toBeLessThanOrEqual(rows);
      }
    }),
    { seed: 46, numRuns: 60 },
  );
  // Both of them are tested.
  expect(Math.min(loaded, rejected)).toBeGreaterThan(0);
});
