/** docs/runbook.md: beside the alerts, every warning of the log and every reason of a failed poll. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FAILURE_REASONS } from '../../src/base/errors.ts';

const PAGE = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8');
const SRC = new URL('../../src/', import.meta.url);
/** A call of the log, or an entry of a table of messages. */
const WARNINGS =
  /(?:\.(?:warn|error)\(|\.tell\(\s*'warn',|level: 'warn',\s*message:|\bBAD = \{\s*all:)\s*(?:'([a-z][^']+)'|"([a-z][^"]+)")/gm;

function warnings(): readonly string[] {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) =>
      Array.from(
        readFileSync(new URL(file, SRC), 'utf8').matchAll(WARNINGS),
        ([, single, double]) => single ?? double ?? '',
      ),
    );
}

test('every warning of the log is in the table', () => {
  const all = new Set(warnings());
  expect(all.size).toBeGreaterThan(17);
  expect([...all].filter((text) => !PAGE.includes(`\`${text}\``))).toEqual([]);
});

test('every reason of a failed poll is in the table', () => {
  expect(FAILURE_REASONS.filter((reason) => !PAGE.includes(`| \`${reason}\` `))).toEqual([]);
});
