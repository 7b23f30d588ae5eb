/** The service's limit on requests, for each customer in windows of fixed length. */
import { SECOND_MS } from './conventions.ts';
import type { Conventions } from './conventions.ts';

export interface RateWindow {
  startMs: number;
  requests: number;
}

/** Counts a request: how long to wait if it is one too many, undefined if it is not. */
export function overRate(
  window: RateWindow,
  { rateLimit }: Conventions,
  nowMs: number,
): number | undefined {
  if (rateLimit === undefined) {
    return undefined;
  }
  if (nowMs < window.startMs || nowMs >= window.startMs + rateLimit.perMs) {
    window.startMs = nowMs;
    window.requests = 0;
  }
  window.requests++;
  return window.requests > rateLimit.requests
    ? window.startMs + rateLimit.perMs - nowMs
    : undefined;
}

/** The header Retry-After, in the service's form; undefined if it sends none. `dateMs` is its now. */
export function retryAfterText(
  { rateLimit }: Conventions,
  waitMs: number,
  dateMs: number,
): string | undefined {
  const seconds = Math.ceil(waitMs / SECOND_MS);
  if (rateLimit?.retryAfter === 'seconds') {
    return String(seconds);
  }
  return rateLimit?.retryAfter === 'date'
    ? new Date(dateMs + seconds * SECOND_MS).toUTCString()
    : undefined;
}
