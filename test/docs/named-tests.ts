/** Documents that name the tests of what they claim: whose claims have none, and which tests are not there. */
import { readFileSync } from 'node:fs';

const ROOT = new URL('../../', import.meta.url);

/** The numbered claims of a document, each with its `FILE: TITLE` lines. */
export function claimsOf(document: string): ReadonlyMap<number, readonly string[]> {
  const found = new Map<number, string[]>();
  for (const line of readFileSync(new URL(document, ROOT), 'utf8').split('\n')) {
    const number = /^(\d+)\. /.exec(line)?.[1];
    const named = /^ +- (.*)$/.exec(line)?.[1];
    if (number !== undefined) {
      found.set(Number(number), []);
    } else if (named !== undefined) {
      [...found.values()].at(-1)?.push(named);
    }
  }
  return found;
}

/** Whether a test of the file has the title, written as one literal. */
export function hasTest(file: string, title: string): boolean {
  const text = readFileSync(new URL(file, ROOT), 'utf8');
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some((literal) =>
    text
      .split(literal)
      .slice(0, -1)
      .some((before) => /\btest\b[^;]*$/.test(before)),
  );
}

/** Those of the named tests that do not exist, or are not named as `FILE: TITLE`. */
export function missingTests(claims: ReadonlyMap<number, readonly string[]>): readonly string[] {
  return [...claims.values()].flat().filter((named) => {
    const [, file, title] = /^(test\/\S+\.test\.ts): (.+)$/.exec(named) ?? [];
    return file === undefined || title === undefined || !hasTest(file, title);
  });
}
