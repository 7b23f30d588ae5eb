/** Waiting as long as the service asks for: a client that polls gives up earlier than a person. */
import type { Clock } from '../../base/clock.ts';
import { formatDuration } from '../../base/duration.ts';
import { ServiceError } from '../../base/errors.ts';

export interface Patience {
  readonly clock: Pick<Clock, 'sleep'>;
  /** Says a sentence to the person who waits. */
  readonly tell: (sentence: string) => void;
  readonly signal: AbortSignal;
}

const MOST_WAITS = 5;

/** The outcome of `ask`, asked again after each wait; at last its error. */
export async function patiently<T>(
  { clock, tell, signal }: Patience,
  ask: () => Promise<T>,
): Promise<T> {
  for (let waits = 0; ; waits += 1) {
    try {
      return await ask();
    } catch (error) {
      const waitMs = error instanceof ServiceError ? error.retryAfterMs : undefined;
      if (waitMs === undefined || waits === MOST_WAITS) {
        throw error;
      }
      const wholeMs = Math.ceil(waitMs / 1_000) * 1_000;
      tell(`the service asks to wait for ${formatDuration(wholeMs)}: waiting`);
      await clock.sleep(wholeMs, signal);
    }
  }
}
