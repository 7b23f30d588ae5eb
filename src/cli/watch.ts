/** Reloads when a file changes: `--config.auto-reload-interval`, and always for `--web.config.file`. */
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { readTextFile } from '../base/files.ts';
import { MAX_CONFIG_FILE_BYTES } from '../config/files.ts';
import type { Daemon, ReloadScope } from '../daemon.ts';

/**
 * Takes the first look at the files of the scope now. The function that it returns looks again once per
 * interval, until the signal aborts, and reloads once for each change. For `all`, files that are added
 * next to one of them count as well, because a pattern may match them. For `web`, a change counts only
 * when two looks in a row see the same, because half-written files may be valid.
 */
export async function createWatch(
  daemon: Pick<Daemon, 'files' | 'reload'>,
  scope: ReloadScope,
  intervalMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<() => Promise<void>> {
  function lookNow(): Promise<Look> {
    return look(daemon.files(scope), scope === 'all');
  }
  let applied = await lookNow();
  let last = applied;

  async function lookAgain(): Promise<void> {
    const now = await lookNow();
    const isStable = scope === 'all' || areEqual(last, now);
    last = now;
    if (!isStable || signal.aborted || areEqual(applied, now)) {
      return;
    }
    await daemon.reload(scope);
    // A change during the reload is found at the next look, because what was seen before it counts.
    applied = new Map(Array.from(await lookNow(), ([file, hash]) => [file, now.get(file) ?? hash]));
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

async function look(files: readonly string[], includesSiblings: boolean): Promise<Look> {
  const found = new Map<string, string>();
  for (const file of files) {
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
