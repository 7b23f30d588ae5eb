/** `--config.auto-reload-interval`: reads the configuration again when one of its files has changed. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Clock } from '../base/clock.ts';

export interface WatchOptions {
  /** 0 watches nothing. */
  readonly intervalMs: number;
  /** Every file that the configuration is made of now, the main one first. */
  readonly files: () => readonly string[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly reload: () => Promise<unknown>;
}

/** Looks at the files' contents once an interval until the signal aborts. A change is tried once. */
export async function watchConfig(options: WatchOptions): Promise<void> {
  const { intervalMs, files, clock, signal, reload } = options;
  if (intervalMs === 0) {
    return;
  }
  let seen = await checksum(files());
  while (!signal.aborted) {
    await clock.sleep(intervalMs, signal).catch(() => {});
    const now = await checksum(files());
    if (!signal.aborted && now !== seen) {
      await reload();
      seen = await checksum(files());
    }
  }
}

/** Of the contents; a file that cannot be read counts as one of its own kind. */
async function checksum(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) {
    hash.update(file).update(await readFile(file).catch(() => 'unreadable'));
  }
  return hash.digest('hex');
}
