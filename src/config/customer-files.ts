/** Finds the files of customers that the patterns under `customer_files` match. */
import { glob } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { ValidatedFile } from './reader.ts';
import type { ConfigFile } from './schema.ts';

const MAX_CUSTOMER_FILES = 10_000;
/** Limit for all patterns together. Without it, `/**` takes minutes and all memory. */
const MAX_SEARCHED_FILES = 100_000;
/** Folders of files that the kernel makes, some of them endless. */
const UNSEARCHED_FOLDERS: ReadonlySet<string> = new Set(['/dev', '/proc', '/sys']);

/**
 * Returns the files in the order of the patterns and by name, relative ones to the file of the patterns.
 * Reports patterns that match none or too many.
 */
export async function findCustomerFiles({
  file,
  values,
}: ValidatedFile<ConfigFile>): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const cwd = dirname(file.path);
  let searched = 0;
  /** Called for each file and folder below `**`, and for each folder that another part matches. */
  function exclude(path: string): boolean {
    searched += 1;
    return searched > MAX_SEARCHED_FILES || UNSEARCHED_FOLDERS.has(resolve(cwd, path));
  }
  for (const [i, pattern] of (values.customer_files ?? []).entries()) {
    if (pattern === undefined) {
      continue;
    }
    const names: string[] = [];
    for await (const name of glob(pattern, { cwd, exclude })) {
      names.push(isAbsolute(name) ? name : join(dirname(file.name), name));
      if (names.length > MAX_CUSTOMER_FILES) {
        break;
      }
    }
    const patternPath = ['customer_files', i];
    if (searched > MAX_SEARCHED_FILES) {
      const expected = `expected patterns that search at most ${MAX_SEARCHED_FILES} files`;
      file.add(patternPath, `${expected}, got more`);
      break;
    }
    if (names.length === 0 || names.length > MAX_CUSTOMER_FILES) {
      const got = names.length === 0 ? 'none' : 'more';
      file.add(patternPath, `expected 1 to ${MAX_CUSTOMER_FILES} files, got ${got}`);
    } else {
      names.toSorted().forEach((name) => found.add(name));
    }
  }
  return found;
}
