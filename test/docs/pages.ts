/** The pages of the documents, their text and their headings. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Paths from the root. */
export const PAGES = [
  ...readdirSync(ROOT),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((path) =>
    join('docs', path),
  ),
  'test/README.md',
  'src/counting/README.md',
].filter((path) => path.endsWith('.md'));

/** A page without its examples, in which brackets mean something else. */
export function proseOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8').replaceAll(/^ *```[^]*?^ *```$/gm, '');
}

/** The anchors that GitHub gives to the headings of a page. */
export function anchorsOf(path: string): readonly string[] {
  return Array.from(proseOf(path).matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}
