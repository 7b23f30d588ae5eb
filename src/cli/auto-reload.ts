/**
 * Reads the configuration again when one of its files has changed: `--config.auto-reload-interval`,
 * and the files of `--web.config.file` at any rate.
 */
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { LARGEST_FILE_BYTES, readTextFile } from '../config/read-file.ts';

export interface WatchOptions {
  /** 0 watches nothing. */
  readonly intervalMs: number;
  /** Every file that the configuration is made of now, the main one first. */
  readonly files: () => readonly string[];
  /** What they were when they were read. */
  readonly seen: Digests;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * Whether a change counts only once two looks in a row have found the same: a file that is half
   * written may be good, and say less than the whole one.
   */
  readonly settles?: boolean;
  readonly reload: () => Promise<unknown>;
}

/** Looks at the files once an interval until the signal aborts. A change is tried once. */
export async function watchConfig(options: WatchOptions): Promise<void> {
  const { intervalMs, files, clock, signal, reload, settles = false } = options;
  if (intervalMs === 0) {
    return;
  }
  let { seen } = options;
  let last = seen;
  while (!signal.aborted) {
    await clock.sleep(intervalMs, signal).catch(() => {});
    const now = await digestsOf(files());
    const isSettled = !settles || areEqual(last, now);
    last = now;
    if (!isSettled) {
      continue;
    }
    if (!signal.aborted && !areEqual(seen, now)) {
      await reload();
      // What was there before the reload counts: a change during it is one for the next time.
      seen = new Map(
        [...(await digestsOf(files()))].map(([of, digest]) => [of, now.get(of) ?? digest]),
      );
      last = seen;
    } else {
      seen = now;
    }
  }
}

/** By file its content, and by directory which files there are that a pattern may mean. */
export type Digests = ReadonlyMap<string, string>;

export async function digestsOf(files: readonly string[]): Promise<Digests> {
  const digests = new Map<string, string>();
  for (const file of files) {
    const siblings = `${dirname(file)}/*${extname(file)}`;
    digests.set(file, await digestOf(file));
    digests.set(siblings, digests.get(siblings) ?? (await namesLike(file)));
  }
  return digests;
}

/** Of the content; a file that cannot be read counts as the reason why. */
async function digestOf(file: string): Promise<string> {
  const content = await readTextFile(file, LARGEST_FILE_BYTES).then(
    ({ text }) => `text ${text}`,
    (error: unknown) => String(error),
  );
  return createHash('sha256').update(content).digest('hex');
}

/** The files beside this one with the same ending: a new one may be a customer's. */
async function namesLike(file: string): Promise<string> {
  const names = await readdir(dirname(file)).catch(() => []);
  return names
    .filter((name) => extname(name) === extname(file))
    .toSorted()
    .join('\n');
}

function areEqual(a: Digests, b: Digests): boolean {
  return a.size === b.size && [...a].every(([of, digest]) => b.get(of) === digest);
}
