/** Reloads a changed configuration: with `--config.auto-reload-interval`, and always `--web.config.file`. */
import type { Clock } from '../base/clock.ts';
import { ConfigError } from '../base/errors.ts';

/** A changed configuration counts when it is the same after this time: half-written files may be valid. */
const SETTLE_MS = 1_000;

export interface WatchOptions {
  /** Throws a ConfigError if the configuration is bad. */
  readonly load: () => Promise<{ readonly digest: string }>;
  readonly reload: () => Promise<unknown>;
  /** Digest of the configuration that is in force at first. */
  readonly loadedDigest: string;
  readonly intervalMs: number;
}

/**
 * Loads once per interval and reloads once for each change, until the signal aborts. A load takes as much
 * processor time as a reload. A bad configuration is a change, and so are other problems of it. Throws
 * what is not a ConfigError.
 */
export async function reloadOnChange(
  { load, reload, loadedDigest, intervalMs }: WatchOptions,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  let reloaded = loadedDigest;
  let previous = loadedDigest;
  while (!signal.aborted) {
    await clock.sleep(previous === reloaded ? intervalMs : SETTLE_MS, signal).catch(() => {});
    const current = await load().then(({ digest }) => digest, problemsIn);
    if (current !== reloaded && current === previous && !signal.aborted) {
      reloaded = current;
      await reload();
    }
    previous = current;
  }
}

function problemsIn(error: unknown): string {
  if (error instanceof ConfigError) {
    return error.message;
  }
  throw error;
}
