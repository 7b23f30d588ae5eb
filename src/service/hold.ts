/** How long the service told one customer to wait (Retry-After), and who must not ask until then. */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import { final } from './retry.ts';

export interface Hold {
  /** Throws, without a request, while the service wants this customer to wait. */
  check(): void;
  note(error: ServiceError): void;
}

/** Each customer has its own: what the service told one is nothing to the others. */
export function createHold(clock: Clock): Hold {
  let untilMs = -Infinity;
  let because: ServiceError | undefined;
  return {
    check() {
      const restMs = Math.ceil(untilMs - clock.monotonicMs());
      if (because !== undefined && restMs > 0) {
        const details = { retryAfterMs: restMs };
        const message = `the service asked to wait; ${Math.ceil(restMs / 1_000)} s of it are left`;
        throw final(new ServiceError(because.reason, message, details));
      }
    },
    note(error) {
      const afterMs = clock.monotonicMs() + (error.retryAfterMs ?? 0);
      if (afterMs > untilMs) {
        untilMs = afterMs;
        because = error;
      }
    },
  };
}
