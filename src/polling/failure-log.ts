/** Tells of polls that fail without flooding the log: the first failure, then ever rarer, and the end. */
import type { Logger } from '../base/log.ts';
import type { ServiceError } from '../base/errors.ts';

export class FailureLog {
  readonly #log: Logger;
  readonly #failures = new Map<string, number>();

  constructor(log: Logger) {
    this.#log = log;
  }

  failed(customer: string, stream: string, error: ServiceError): void {
    const key = JSON.stringify([customer, stream]);
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    if (isPowerOfTen(failures)) {
      this.#log.warn('poll failed', {
        customer,
        stream,
        reason: error.reason,
        error: error.message,
        failures_in_a_row: failures,
      });
    }
  }

  succeeded(customer: string, stream: string): void {
    const key = JSON.stringify([customer, stream]);
    const failures = this.#failures.get(key);
    if (failures !== undefined) {
      this.#failures.delete(key);
      this.#log.info('polls are good again', { customer, stream, failures_in_a_row: failures });
    }
  }

  forget(customer: string): void {
    for (const key of this.#failures.keys()) {
      if ((JSON.parse(key) as string[])[0] === customer) {
        this.#failures.delete(key);
      }
    }
  }
}

function isPowerOfTen(count: number): boolean {
  return /^10*$/.test(String(count));
}
