/** The error of a query that its caller ended. */
import { ServiceError } from '../base/errors.ts';

/** The signal's reason if that is a ServiceError, else `timeout`. */
export function abortError(signal: AbortSignal): ServiceError {
  return signal.reason instanceof ServiceError
    ? signal.reason
    : new ServiceError('timeout', 'no complete answer before the deadline of the query');
}

/** The promise's outcome, or `abortError` as soon as the signal aborts. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    throw abortError(signal);
  }
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  function abort(): void {
    reject(abortError(signal));
  }
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
