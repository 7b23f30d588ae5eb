/** How long the service told one customer to wait (Retry-After), and who must not ask until then. */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import { final, LONGEST_WAIT_MS } from './retry.ts';

/** Each customer has its own: what the service told one is nothing to the others. */
export class Hold {
  readonly #clock: Clock;
  #untilMs = -Infinity;
  #because: ServiceError | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the service wants this customer to wait now. */
  lasts(): boolean {
    return this.#restMs() > 0;
  }

  /**
   * Resolves when the customer may ask. Throws what the service said, at once where the wait would be
   * long, else when the signal aborts, whose reason it throws if that is a ServiceError.
   */
  async waitOut(signal?: AbortSignal): Promise<void> {
    while (this.#because !== undefined && this.#restMs() > 0) {
      if (this.#restMs() > LONGEST_WAIT_MS) {
        throw this.#held(this.#because.reason);
      }
      try {
        await this.#clock.sleep(this.#restMs(), signal);
      } catch {
        throw signal?.reason instanceof ServiceError
          ? signal.reason
          : this.#held(this.#because.reason);
      }
    }
  }

  note(error: ServiceError): void {
    const afterMs = this.#clock.monotonicMs() + (error.retryAfterMs ?? 0);
    if (afterMs > this.#untilMs) {
      this.#untilMs = afterMs;
      this.#because = error;
    }
  }

  #restMs(): number {
    return Math.max(0, Math.ceil(this.#untilMs - this.#clock.monotonicMs()));
  }

  #held(reason: ServiceError['reason']): Error {
    const message = `the service asked to wait; ${Math.ceil(this.#restMs() / 1_000)} s of it are left`;
    return final(new ServiceError(reason, message, { retryAfterMs: this.#restMs() }));
  }
}
