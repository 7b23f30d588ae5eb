/** Errors caused from outside. A programmer's mistake is an assertion, and crashes. */
import { formatDuration } from './duration.ts';

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

/**
 * There is no complete, valid response. The message is safe to show: it never contains a header, a
 * query string, a body, a secret or a token.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly reason: FailureReason;
  /** HTTP status, if there was a response. */
  readonly status: number | undefined;
  /** Value of the header Retry-After. */
  readonly retryAfterMs: number | undefined;

  constructor(
    reason: FailureReason,
    message: string,
    details: Partial<Pick<ServiceError, 'status' | 'retryAfterMs'>> = {},
  ) {
    super(message);
    this.reason = reason;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Returns an error of the service. Throws any other, which is the program's. */
export function serviceErrorOf(error: unknown): ServiceError {
  if (error instanceof ServiceError) {
    return error;
  }
  throw error;
}

const TRANSIENT: readonly FailureReason[] = ['rate_limited', 'timeout', 'unreachable', 'server'];

/** True if the same request may succeed later: the service or the network failed, not the request. */
export function isTransient(error: unknown): error is ServiceError {
  return error instanceof ServiceError && TRANSIENT.includes(error.reason);
}

/** The reason of an abort at a time limit. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';

  /** `what` is subject to the limit, such as "a poll". */
  constructor(what: string, limitMs: number) {
    super(`${what} may take ${formatDuration(limitMs)}`);
  }
}

/** A wrong command line. Exit status 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** A bad configuration. Exit status 2. The message lists all problems, ready to print, without secrets. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** How many problems the message lists. */
  readonly problems: number;

  constructor(message: string, problems = 1) {
    super(message);
    this.problems = problems;
  }
}

/** Returns the message of an error, or the text of whatever else was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns Node's code of an error, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
