/** Reloads when a file changes: `--config.auto-reload-interval`, and always for `--web.config.file`. */
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { MAX_CONFIG_FILE_BYTES, readTextFile } from '../config/read-file.ts';

export interface Watch {
  readonly intervalMs: number;
  /** The files that the configuration in force was read from. */
  readonly files: () => readonly string[];
  /** True if a file that is added next to one of `files` may belong to the configuration as well. */
  readonly includesSiblings: boolean;
  /** True if a change counts only when two looks in a row see the same: a half-written file may be valid. */
  readonly waitsUntilStable: boolean;
  readonly reload: () => Promise<unknown>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Takes the first look now. The function that it returns looks again once per interval, until the
 * signal aborts, and reloads once for each change.
 */
export async function createWatch(watch: Watch): Promise<() => Promise<void>> {
  const { intervalMs, clock, signal } = watch;
  let applied = await look(watch);
  let last = applied;

  async function lookAgain(): Promise<void> {
    const now = await look(watch);
    const isStable = !watch.waitsUntilStable || areEqual(last, now);
    last = now;
    if (!isStable || signal.aborted || areEqual(applied, now)) {
      return;
    }
    await watch.reload();
    // A change during the reload is found at the next look, because what was seen before it counts.
    applied = new Map(
      Array.from(await look(watch), ([file, hash]) => [file, now.get(file) ?? hash]),
    );
    last = applied;
  }

  return async () => {
    while (!signal.aborted) {
      await clock.sleep(intervalMs, signal).catch(() => {});
      await lookAgain();
    }
  };
}

/** By file a hash of its content, and by directory and ending a hash of the names there. */
type Look = ReadonlyMap<string, string>;

async function look({ files, includesSiblings }: Watch): Promise<Look> {
  const found = new Map<string, string>();
  for (const file of files()) {
    found.set(file, await contentOf(file));
    const siblings = `${dirname(file)}/*${extname(file)}`;
    if (includesSiblings && !found.has(siblings)) {
      found.set(siblings, await siblingsOf(file));
    }
  }
  return found;
}

/** The reason stands for the content of a file that cannot be read. */
async function contentOf(file: string): Promise<string> {
  const content = await readTextFile(file, MAX_CONFIG_FILE_BYTES).then(
    ({ text }) => `text ${text}`,
    (error: unknown) => String(error),
  );
  return createHash('sha256').update(content).digest('hex');
}

async function siblingsOf(file: string): Promise<string> {
  const names = await readdir(dirname(file)).catch(() => []);
  return names
    .filter((name) => extname(name) === extname(file))
    .toSorted()
    .join('\n');
}

function areEqual(a: Look, b: Look): boolean {
  return a.size === b.size && [...a].every(([file, hash]) => b.get(file) === hash);
}
