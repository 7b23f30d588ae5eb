/** How the polls of one stream go, whatever the stream. Immutable: replaced whole. */
import type { StreamMetrics } from './customer-metrics.ts';

export type Health = Omit<StreamMetrics, 'lastSeenMs'>;

export const UNPOLLED: Health = {
  up: undefined,
  lastSuccessMs: undefined,
  polls: 0,
  failures: 0,
  skipped: 0,
  lastError: undefined,
};

export function afterSuccess(health: Health, nowMs: number): Health {
  return {
    ...health,
    up: true,
    lastSuccessMs: nowMs,
    polls: health.polls + 1,
    lastError: undefined,
  };
}

/** `message` is safe to show. */
export function afterFailure(health: Health, message: string, nowMs: number): Health {
  return {
    ...health,
    up: false,
    polls: health.polls + 1,
    failures: health.failures + 1,
    lastError: { message, atMs: nowMs },
  };
}

export function afterSkip(health: Health): Health {
  return { ...health, skipped: health.skipped + 1 };
}
