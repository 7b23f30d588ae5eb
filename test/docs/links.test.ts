/** Links of a page lead to files and headings that are there, and the sources that it names exist. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DOCS = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' });
/** Paths from the root. */
const PAGES = [
  ...readdirSync(ROOT),
  ...DOCS.map((path) => join('docs', path)),
  'test/README.md',
  'src/counting/README.md',
].filter((path) => path.endsWith('.md'));

/** A page without its examples, in which brackets mean something else. */
function proseOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8').replaceAll(/^ *```[^]*?^ *```$/gm, '');
}

/** The anchors that GitHub gives to the headings of a page. */
function anchorsOf(path: string): readonly string[] {
  return Array.from(proseOf(path).matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

test.each(PAGES)('%s names sources that are there', (page) => {
  const named =
    proseOf(page).match(/(?<=`)(?:bench|deploy|grafana|src|test)\/[\w./-]+\.ts(?=`)/g) ?? [];
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test.each(PAGES)('%s has no broken link', (page) => {
  const links = Array.from(
    proseOf(page).matchAll(/\]\((?![a-z]+:)([^()\s]+)\)/g),
    ([, link = '']) => link,
  );
  const broken = links.filter((link) => {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? page : join(dirname(page), path);
    return !existsSync(join(ROOT, target)) || (anchor && !anchorsOf(target).includes(anchor));
  });
  expect(broken).toEqual([]);
});
