/** A poller, and customers whose service answers as a test says; all that was asked is written down. */
import { ServiceError } from '../../src/base/errors.ts';
import type { Question, AggregatedResponse } from '../../src/base/model.ts';
import type { Poller } from '../../src/polling/poller.ts';
import type { PolledCustomer } from '../../src/polling/spread.ts';
import { customerNamed, pollerOn } from '../support/polled.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

export const MINUTE_MS = 60_000;
export const GOOD: AggregatedResponse = {
  aggregation: 'minute',
  rows: [{ key: 1, counts: [3, 1] }],
};

type Answering = (question: Question, signal: AbortSignal) => Promise<AggregatedResponse>;

export class PollerRig implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly poller: Poller;
  readonly asked: { customer: string; question: Question; atMs: number }[] = [];
  /** Reasons of the polls that have ended; undefined of a good one. */
  readonly ended: (string | undefined)[] = [];

  constructor(startMs = Date.UTC(2026, 10, 18, 10), maxRequestsPerSecond = 1_000) {
    this.clock = new VirtualClock(startMs);
    this.poller = pollerOn(this.clock, {
      observer: { pollEnded: (_stream, _seconds, reason) => this.ended.push(reason), changed() {} },
      maxRequestsPerSecond,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const stopped = this.poller.stop();
    // Clients of these tests that do not heed their signal come to their end.
    await this.clock.advance(10 * MINUTE_MS);
    await stopped;
    if (this.clock.sleepers > 0) {
      throw new Error(`${this.clock.sleepers} are still asleep`);
    }
  }

  /** Starts, and polls these customers from now on. */
  start(customers: readonly PolledCustomer[]): void {
    this.poller.start();
    this.poller.setCustomers(customers);
  }

  polled(name: string, answer: Answering = () => Promise.resolve(GOOD)): PolledCustomer {
    return {
      customer: customerNamed(name),
      client: {
        query: (question, signal) => {
          this.asked.push({ customer: name, question, atMs: this.clock.monotonicMs() });
          return answer(question, signal);
        },
      },
    };
  }

  healthOf({ customer }: PolledCustomer) {
    const { streams } = customer.metricsAt(this.clock.nowMs());
    const { polls = 0, failures = 0, skipped = 0 } = streams.people ?? {};
    return { polls, failures, skipped };
  }
}

/** An answer that never comes, until it is not waited for any more. */
export function hang(_question: Question, signal: AbortSignal): Promise<AggregatedResponse> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new ServiceError('timeout', 'no answer came')));
  });
}
