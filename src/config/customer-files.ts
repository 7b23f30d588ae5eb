/** Finds the files of customers that the patterns under `customer_files` match. */
import { glob } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import type { YamlFile } from './yaml-file.ts';

/** Searched or found, of all patterns together. Without a limit, `/**` takes minutes and all memory. */
const MAX_FILES = 100_000;

/**
 * Returns the files in the order of the patterns and by name, relative ones to the file of the patterns.
 * Reports patterns that match none or too many.
 */
export async function findCustomerFiles(
  file: YamlFile,
  patterns: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  let files = 0;
  /** `glob` asks for each file and folder below `**`, and for each folder that another part matches. */
  function isTooMany(): boolean {
    files += 1;
    return files > MAX_FILES;
  }
  for (const [i, pattern] of patterns.entries()) {
    const names: string[] = [];
    for await (const name of glob(pattern, { cwd: dirname(file.path), exclude: isTooMany })) {
      if (isTooMany()) {
        break;
      }
      names.push(isAbsolute(name) ? name : join(dirname(file.name), name));
    }
    if (names.length === 0 || files > MAX_FILES) {
      const got = files > MAX_FILES ? 'more' : 'none';
      file.add(['customer_files', i], `expected 1 to ${MAX_FILES} files, got ${got}`);
    }
    names.toSorted().forEach((name) => found.add(name));
  }
  return files > MAX_FILES ? new Set() : found;
}
