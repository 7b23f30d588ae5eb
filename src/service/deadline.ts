/** What the end of a caller's patience looks like. Knows nothing of requests. */
import { ServiceError } from '../base/errors.ts';

/** The error of an aborted ask: the signal's reason if that is a ServiceError, else `timeout`. */
export function deadlineError(signal: AbortSignal): ServiceError {
  return signal.reason instanceof ServiceError
    ? signal.reason
    : new ServiceError('timeout', 'the time for asking was over before a whole answer had come');
}

/** The promise's outcome, or the deadline's error as soon as the signal aborts. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    throw deadlineError(signal);
  }
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  function abort(): void {
    reject(deadlineError(signal));
  }
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
