/** What a status other than 200 means, as one of the contract's reasons. Pure. */
import { ServiceError } from '../base/errors.ts';
import type { FailureReason, ServiceErrorDetails } from '../base/errors.ts';
import { parseRetryAfter } from './retry-after.ts';
import type { ExchangeAnswer } from './transport.ts';

/** The error for an answer whose status is not 200. `title` is method and path. */
export function statusError(title: string, answer: ExchangeAnswer, nowMs: number): ServiceError {
  const { status } = answer;
  const retryAfterMs = parseRetryAfter(answer.retryAfter, answer.date, nowMs);
  const details: ServiceErrorDetails =
    retryAfterMs === undefined ? { status } : { status, retryAfterMs };
  const redirect =
    status >= 300 && status < 400
      ? ', a redirect; it is not followed, for the token must not travel'
      : '';
  return new ServiceError(reasonOf(status), `${title}: status ${status}${redirect}`, details);
}

function reasonOf(status: number): FailureReason {
  switch (status) {
    case 401:
    case 403:
      return 'auth';
    case 408:
      return 'timeout';
    case 429:
      return 'rate_limited';
    default:
      return status >= 500 ? 'server' : 'rejected';
  }
}
