/** Every page: the files and the scripts of npm that it names are there. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PAGES = [
  ...readdirSync(ROOT),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map(
    (path) => `docs/${path}`,
  ),
].filter((path) => path.endsWith('.md'));
/** What a reader is to make. */
const TO_BE_MADE = new Set(['src/cli/NAME.ts']);

function read(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

test('there are pages', () => {
  expect(PAGES).toEqual(expect.arrayContaining(['CONTRIBUTING.md', 'docs/how-it-counts.md']));
});

test.each(PAGES)('the files that %s names are there', (page) => {
  const named = Array.from(
    read(page).matchAll(/(?<![\w/.])((?:src|test|docs|deploy|grafana|prometheus)\/[\w./-]+\.\w+)/g),
    ([, path = '']) => path,
  );
  expect(named.filter((path) => !TO_BE_MADE.has(path) && !existsSync(join(ROOT, path)))).toEqual(
    [],
  );
});

test.each(PAGES)('the scripts of npm that %s names are there', (page) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const named = Array.from(
    read(page).matchAll(/\bnpm run (?:--silent )?([\w:]+)/g),
    ([, script = '']) => script,
  );
  expect(named.filter((script) => !(script in scripts))).toEqual([]);
});
