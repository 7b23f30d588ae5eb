/** Every link of a page leads to a file that is there, and to a heading that is in it. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = [
  ...readdirSync(ROOT),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((path) =>
    join('docs', path),
  ),
  'test/README.md',
  'src/counting/README.md',
].filter((path) => path.endsWith('.md'));

/** A page without its examples, in which brackets mean something else. */
function proseOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8').replaceAll(/^ *```[^]*?^ *```$/gm, '');
}

/** What GitHub calls the headings of a page. */
function anchorsOf(path: string): readonly string[] {
  return Array.from(proseOf(path).matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test('there are pages, in the root and below docs', () => {
  expect(PAGES).toEqual(expect.arrayContaining(['README.md', 'docs/reference/metrics.md']));
});

test.each(PAGES)('%s', (page) => {
  const links = Array.from(proseOf(page).matchAll(/\]\(([^()\s]+)\)/g), ([, link = '']) => link);
  const broken = links
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : relative(ROOT, join(ROOT, dirname(page), path));
      return (
        !existsSync(join(ROOT, target)) ||
        (anchor !== undefined && !anchorsOf(target).includes(anchor))
      );
    });
  expect(broken).toEqual([]);
});
