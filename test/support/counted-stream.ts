/** One stream counted against the small service, with its marks, over restarts. */
import { COUNTERS } from '../../src/base/model.ts';
import type { MinuteStream, Question, AggregatedResponse } from '../../src/base/model.ts';
import { Calendar } from '../../src/counting/calendar.ts';
import { Customer } from '../../src/counting/customer.ts';
import type { CustomerMetrics } from '../../src/counting/customer-metrics.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import type { PollNote } from '../../src/counting/poll.ts';
import { pollStream } from '../../src/counting/poll.ts';
import type { Zone } from '../../src/counting/zone.ts';
import { queryFrom } from './ask.ts';

export const RECONCILE_MS = 3_600_000;

export class CountedStream {
  readonly stream: MinuteStream;
  readonly #zone: Zone;
  readonly #answer: (question: Question, nowMs: number) => AggregatedResponse;
  readonly #startMs: number;
  customer: Customer;
  marks = new HighWaterMarks();
  nowMs: number;
  /** By how much the service's clock is ahead of ours, and known to be. */
  serviceAheadMs = 0;
  asked: Question[] = [];
  notes: PollNote[] = [];

  constructor(
    zone: Zone,
    nowMs: number,
    answer: (question: Question, nowMs: number) => AggregatedResponse,
    stream: MinuteStream = 'people',
  ) {
    this.#zone = zone;
    this.nowMs = nowMs;
    this.#startMs = nowMs;
    this.#answer = answer;
    this.stream = stream;
    this.customer = this.#create();
  }

  /** One poll. A throw of the service is a failed poll. Each answer takes `answerMs`. */
  async poll(allowBaseline = true, answerMs = 0): Promise<void> {
    const { customer, stream } = this;
    const period = customer.periodAt(this.nowMs);
    this.asked = [];
    const elapsedMs = this.nowMs - this.#startMs;
    try {
      const outcome = await pollStream(
        customer.stateOf(stream),
        {
          stream,
          calendar: customer.calendar,
          period,
          nowMs: () => this.nowMs,
          serviceNowMs: () => this.nowMs + this.serviceAheadMs,
          monotonicMs: elapsedMs,
          renewalMs: elapsedMs - (elapsedMs % RECONCILE_MS),
          reconcileIntervalMs: RECONCILE_MS,
          allowBaseline,
          hasTime: () => true,
          marks: customer.marksOf(stream, period),
          doors: customer.doors,
        },
        queryFrom((question) => {
          this.nowMs += answerMs;
          return this.#answer(question, this.nowMs + this.serviceAheadMs);
        }, this.asked),
      );
      this.notes.push(...outcome.notes);
      customer.pollSucceeded(stream, outcome.state, this.nowMs);
    } catch (error) {
      customer.pollFailed(stream, String(error), this.nowMs);
    }
  }

  figures(): CustomerMetrics {
    return this.customer.metricsAt(this.nowMs);
  }

  /** The exported counters of the stream; undefined where there is no series. */
  totals(): (number | undefined)[] {
    const { counters } = this.figures();
    return COUNTERS[this.stream].map((kind) => counters[kind]?.total);
  }

  held(): (number | undefined)[] {
    const { counters } = this.figures();
    return COUNTERS[this.stream].map((kind) => counters[kind]?.excess);
  }

  today(): (number | undefined)[] {
    const { counters } = this.figures();
    return COUNTERS[this.stream].map((kind) => counters[kind]?.today);
  }

  /** As after a kill: only the marks as text survive, or not even they. */
  restart(keepMarks = true): void {
    const text = [...this.marks.serialize(this.nowMs)].join('');
    this.marks = new HighWaterMarks();
    if (keepMarks) {
      this.marks.restore(text, this.nowMs);
    }
    this.customer = this.#create();
  }

  #create(): Customer {
    return new Customer({
      name: 'riverside',
      timezone: this.#zone.name,
      description: { labels: {}, capacity: undefined, openingHours: undefined, estimate: false },
      calendar: new Calendar(this.#zone, { hour: 4, minute: 0 }),
      streams: [this.stream],
      owner: { service: 'https://s.example.org', clientId: 'riverside-api', customer: 'riverside' },
      marks: this.marks,
    });
  }
}
