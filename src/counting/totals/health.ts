/** The results of the polls of one stream. */
import type { PollResult } from './state.ts';

export interface Health {
  /** Whether the last poll succeeded; undefined before the first one ended. */
  readonly up: boolean | undefined;
  /** When the last successful poll ended. */
  readonly lastSuccessMs: number | undefined;
  /** When the last poll ended whose values were accepted. */
  readonly acceptedMs: number | undefined;
  /** When the first failed poll in a row ended; undefined after a successful one. */
  readonly failingSinceMs: number | undefined;
  /** When the first poll in a row ended whose values were not accepted; undefined if none wait. */
  readonly waitingSinceMs: number | undefined;
  readonly polls: number;
  readonly failures: number;
  readonly skipped: number;
  /** The last failure, without secrets; undefined after a successful poll. */
  readonly lastError: { readonly message: string; readonly atMs: number } | undefined;
}

export const UNPOLLED: Health = {
  up: undefined,
  lastSuccessMs: undefined,
  acceptedMs: undefined,
  failingSinceMs: undefined,
  waitingSinceMs: undefined,
  polls: 0,
  failures: 0,
  skipped: 0,
  lastError: undefined,
};

/** Returns the health after a poll that succeeded. */
export function succeeded(before: Health, result: PollResult, nowMs: number): Health {
  return {
    ...before,
    up: true,
    lastSuccessMs: nowMs,
    failingSinceMs: undefined,
    polls: before.polls + 1,
    lastError: undefined,
    ...(result === 'accepted'
      ? { acceptedMs: nowMs, waitingSinceMs: undefined }
      : { waitingSinceMs: before.waitingSinceMs ?? nowMs }),
  };
}

/** Returns the health after a poll that failed. `message` must not contain secrets. */
export function failed(before: Health, message: string, nowMs: number): Health {
  const { polls, failures } = before;
  const lastError = { message, atMs: nowMs };
  return {
    ...before,
    up: false,
    failingSinceMs: before.failingSinceMs ?? nowMs,
    polls: polls + 1,
    failures: failures + 1,
    lastError,
  };
}

/** Returns the health after a poll that was skipped. */
export function skipped(before: Health): Health {
  return { ...before, skipped: before.skipped + 1 };
}
