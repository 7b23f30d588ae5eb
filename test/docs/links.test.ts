/** Links of a page lead to files and headings that are there, and the sources that it names exist. */
import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { anchorsOf, PAGES, proseOf, ROOT } from './pages.ts';

test('there are pages, in the root and below docs', () => {
  expect(PAGES).toEqual(expect.arrayContaining(['README.md', 'docs/reference/metrics.md']));
});

test.each(PAGES)('%s names sources that are there', (page) => {
  const named =
    proseOf(page).match(/(?<=`)(?:bench|deploy|grafana|src|test)\/[\w./-]+\.ts(?=`)/g) ?? [];
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test.each(PAGES)('%s has no broken link', (page) => {
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
