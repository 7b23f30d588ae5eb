/** How long the service told one customer to wait (Retry-After), and who must not ask until then. */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import { final, LONGEST_WAIT_MS } from './retry.ts';

export interface Hold {
  /** Whether the service wants this customer to wait now. */
  lasts(): boolean;
  /**
   * Resolves when the customer may ask. Throws what the service said, at once where the wait would be
   * long, else when the signal aborts, whose reason it throws if that is a ServiceError.
   */
  waitOut(signal?: AbortSignal): Promise<void>;
  note(error: ServiceError): void;
}

/** Each customer has its own: what the service told one is nothing to the others. */
export function createHold(clock: Clock): Hold {
  let untilMs = -Infinity;
  let because: ServiceError | undefined;

  function restMs(): number {
    return Math.max(0, Math.ceil(untilMs - clock.monotonicMs()));
  }

  function held(reason: ServiceError['reason']): Error {
    const message = `the service asked to wait; ${Math.ceil(restMs() / 1_000)} s of it are left`;
    return final(new ServiceError(reason, message, { retryAfterMs: restMs() }));
  }

  return {
    lasts: () => restMs() > 0,
    async waitOut(signal) {
      while (because !== undefined && restMs() > 0) {
        if (restMs() > LONGEST_WAIT_MS) {
          throw held(because.reason);
        }
        try {
          await clock.sleep(restMs(), signal);
        } catch {
          throw signal?.reason instanceof ServiceError ? signal.reason : held(because.reason);
        }
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
