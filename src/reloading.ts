/**
 * One reading of a configuration after the other, and what is said of each. Must not know what is
 * read, nor who asks for it.
 */
import type { Clock } from './base/clock.ts';
import { ConfigError } from './base/errors.ts';
import type { Logger } from './base/log.ts';
import type { ReloadResult } from './web/server.ts';

/** `all` is everything that there is to read, `web` the part of it that the web server needs. */
export type Extent = 'all' | 'web';

export interface Reloading {
  /**
   * `read` reads and applies; where it throws a ConfigError, it must have applied nothing. However
   * many ask while a reading is under way, the next one of the same extent is for all of them.
   */
  reload(extent: Extent, read: () => Promise<ReloadResult>): Promise<ReloadResult>;
}

export interface ReloadingOptions {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly log: Logger;
  /** Told after each, with when it began: false as long as the last one of either extent was bad. */
  readonly ended: (successful: boolean, atMs: number) => void;
}

export function createReloading({ clock, log, ended }: ReloadingOptions): Reloading {
  const waiting = new Map<Extent, Promise<ReloadResult>>();
  const bad = new Set<Extent>();
  let last: Promise<unknown> = Promise.resolve();

  async function readNow(extent: Extent, read: () => Promise<ReloadResult>): Promise<ReloadResult> {
    const atMs = clock.nowMs();
    try {
      const result = await read();
      if (result.ok) {
        bad.delete(extent);
        if (extent === 'all') {
          bad.clear();
        }
        ended(bad.size === 0, atMs);
      }
      return result;
    } catch (error) {
      if (!(error instanceof ConfigError)) {
        throw error;
      }
      bad.add(extent);
      ended(false, atMs);
      log.error(BAD[extent], { problems: error.message });
      return { ok: false, problems: error.message };
    }
  }

  return {
    reload(extent, read) {
      const known = waiting.get(extent);
      if (known !== undefined) {
        return known;
      }
      const next = last.then(() => {
        waiting.delete(extent);
        return readNow(extent, read);
      });
      waiting.set(extent, next);
      last = next.catch(() => {});
      return next;
    },
  };
}

const BAD = {
  all: 'the configuration is bad, the old one stays',
  web: 'the web configuration is bad, the old one stays',
} as const satisfies Record<Extent, string>;
