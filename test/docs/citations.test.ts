/** Every file that a comment or a page names is in the repository. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { anchorsOf, PAGES, proseOf, ROOT } from './pages.ts';

const SOURCES = ['src', 'test', 'bench', 'grafana', 'docs'].flatMap((folder) =>
  filesBelow(folder).filter((path) => path.endsWith('.ts')),
);
const FILES = [...PAGES, ...SOURCES];

function filesBelow(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
    join(folder, path),
  );
}

/** The lines that are comments, and what follows code in a line. */
function commentsOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
    .split('\n')
    .flatMap((line) => /^\s*(?:\/\*\*?|\*|\/\/)\s(.*)|;\s+\/\/ (.*)/.exec(line)?.slice(1) ?? [])
    .join('\n');
}

/** Names of pages and sources, with an anchor or without; not those within addresses. */
function citationsIn(text: string): readonly string[] {
  const words = text.replaceAll(/https?:\S+/g, '');
  return words.match(/(?<![\w./*-])[\w./-]*\w\.(?:md|ts)(?:#[\w-]+)?(?![\w*])/g) ?? [];
}

/**
 * Whether a page is there by its path from the root, with the heading; or a source by its path, of
 * which the front may be missing (`totals/poll.ts`).
 */
function leadsSomewhere(citation: string): boolean {
  const [path = '', anchor] = citation.split('#');
  return path.endsWith('.md')
    ? existsSync(join(ROOT, path)) && (anchor === undefined || anchorsOf(path).includes(anchor))
    : FILES.some((file) => file === path || file.endsWith(`/${path}`));
}

test('finds what is cited', () => {
  expect(
    citationsIn('as docs/service.md#tokens has it; see poll.ts, not https://a.org/b.md'),
  ).toEqual(['docs/service.md#tokens', 'poll.ts']);
  expect(['docs/service.md#tokens', 'totals/poll.ts'].map(leadsSomewhere)).toEqual([true, true]);
  expect(['CONTRACT.md', 'docs/service.md#none', 'none.ts'].some(leadsSomewhere)).toBe(false);
});

test('comments cite files of the repository', () => {
  const broken = SOURCES.flatMap((path) =>
    citationsIn(commentsOf(path))
      .filter((citation) => !leadsSomewhere(citation))
      .map((citation) => `${path}: ${citation}`),
  );
  expect(broken).toEqual([]);
});

describe('pages name files of the repository', () => {
  test.each(PAGES)('%s', (page) => {
    // A link is relative to its page, and links.test.ts follows it.
    const text = proseOf(page).replaceAll(/\]\([^)]*\)/g, ']');
    const broken = citationsIn(text).filter(
      (citation) => !leadsSomewhere(citation) && !leadsSomewhere(join(dirname(page), citation)),
    );
    expect(broken).toEqual([]);
  });
});
