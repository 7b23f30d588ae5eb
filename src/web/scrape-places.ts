/**
 * How many scrapes may be under way: each holds a whole answer, which may be 25 MB, until its reader
 * has read it. Who reads slowly keeps nobody else out.
 */
import type { ServerResponse } from 'node:http';
import type { Clock } from '../base/clock.ts';

const MOST_AT_ONCE = 40;
/** Prometheus's own default for a whole scrape. Then somebody else may have the place. */
const KEPT_MS = 10_000;

export interface ScrapePlaces {
  /** Takes a place until the answer is over; false where there is none to be had. */
  take(response: ServerResponse): boolean;
}

export function createScrapePlaces(clock: Pick<Clock, 'monotonicMs'>): ScrapePlaces {
  /** The oldest first. */
  const taken = new Map<ServerResponse, number>();
  return {
    take(response) {
      const [oldest] = taken;
      if (oldest !== undefined && taken.size >= MOST_AT_ONCE) {
        const [slow, sinceMs] = oldest;
        if (clock.monotonicMs() - sinceMs < KEPT_MS) {
          return false;
        }
        taken.delete(slow);
        slow.destroy();
      }
      taken.set(response, clock.monotonicMs());
      response.once('close', () => taken.delete(response));
      return true;
    },
  };
}
