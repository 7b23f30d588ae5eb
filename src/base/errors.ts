/**
 * The errors that the world causes. A programmer's mistake is none of these: it is an assertion,
 * and crashes.
 */

/** Why a poll failed: the label `reason` of `library_exporter_poll_failures_total`. Closed. */
export const FAILURE_REASONS = [
  'auth',
  'rate_limited',
  'timeout',
  'unreachable',
  'server',
  'rejected',
  'malformed',
] as const;

export type FailureReason = (typeof FAILURE_REASONS)[number];

export interface ServiceErrorDetails {
  /** HTTP status, where there was an answer. */
  readonly status?: number;
  /** How long the service asked us to wait. */
  readonly retryAfterMs?: number;
}

/**
 * An error to be thrown when the service did not give a whole good answer. The message is safe to
 * show: it never holds a header, a query string, a body, a secret or a token.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly reason: FailureReason;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(reason: FailureReason, message: string, details: ServiceErrorDetails = {}) {
    super(message);
    this.reason = reason;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Whether it may be over after a while: it was the service, or the way to it, and not the question. */
export function isPassing(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError)) {
    return false;
  }
  switch (error.reason) {
    case 'rate_limited':
    case 'timeout':
    case 'unreachable':
    case 'server':
      return true;
    case 'auth':
    case 'rejected':
    case 'malformed':
      return false;
  }
}

/** An error to be thrown when the command line is not one that the program knows. Exit status 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * An error to be thrown when the configuration has problems. Exit status 2. The message is the list
 * of all of them, ready to print, without any part of a secret.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** What an error says; of what is no Error, whatever text it has. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Node's name for what went wrong, such as `ENOENT`; undefined where there is none. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
