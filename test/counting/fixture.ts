/** A customer with one stream, which a test polls step by step, over restarts. */
import { ServiceError } from '../../src/base/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { COUNTERS } from '../../src/base/model.ts';
import type { AggregatedResponse, KeyTimes, MinuteStream, Stream } from '../../src/base/model.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import type { Customer } from '../../src/counting/customer.ts';
import type { CounterValues, CustomerMetrics } from '../../src/counting/customer-metrics.ts';
import { streamContext } from '../../src/counting/customer-poll.ts';
import type { PollTimes } from '../../src/counting/customer-poll.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import type { StoredMark } from '../../src/counting/high-water-marks.ts';
import type { Query } from '../../src/counting/rows/window-reader.ts';
import { planPoll, pollStream } from '../../src/counting/totals/poll.ts';
import type {
  PollContext,
  PollNote,
  PollOutcome,
  StreamState,
} from '../../src/counting/totals/state.ts';
import { checkClocks } from '../../src/service/server-clock.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { NOVEMBER, NOW_MS, OWNER } from '../support/owner.ts';
import { customerNamed } from '../support/polled.ts';
import { queryFrom } from '../support/responses.ts';
import type { Requested, Respond } from '../support/responses.ts';
import { fittingKeyTimes, SimulatedPeople } from '../support/simulated-people.ts';

export { DAY_MS, HOUR_MS, MINUTE_MS };
/** A Wednesday, 11:00 in Copenhagen. */
export const START_MS = NOW_MS;

/** What fixtures of streams and of breakdowns share: time, requests and restarts. */
export abstract class PollFixture {
  marks = new HighWaterMarks();
  customer: Customer;
  /** The service's time, and by how much the exporter's clock is ahead of it. */
  nowMs: number;
  aheadMs = 0;
  intervalMs = MINUTE_MS;
  /** The requests of the last poll, and what it logs. */
  requests: Requested[] = [];
  notes: readonly PollNote[] = [];
  readonly #stream: Stream;
  readonly #createCustomer: () => Customer;
  readonly #startMs: number;

  constructor(
    stream: Stream,
    startMs = START_MS,
    where: { zone?: Zone; keyTimes?: KeyTimes } = {},
  ) {
    const streams = [stream === 'logins' ? stream : 'people'] as const;
    const settings = { ...where, streams, owner: OWNER };
    this.#stream = stream;
    this.#createCustomer = () => customerNamed('riverside', this.marks, settings);
    this.#startMs = startMs;
    this.nowMs = startMs;
    this.customer = this.#createCustomer();
  }

  /** Returns what the service responds. If it throws a ServiceError, the poll fails. */
  abstract respond: Respond;
  protected abstract request(query: Query): Promise<readonly PollNote[]>;

  get clockMs(): number {
    return this.nowMs + this.aheadMs;
  }

  get monotonicMs(): number {
    return this.nowMs - this.#startMs;
  }

  get times(): PollTimes {
    const clocks = { nowMs: () => this.clockMs, monotonicMs: () => this.monotonicMs };
    return { clocks, reconcileIntervalMs: HOUR_MS };
  }

  /** Polls once, as an exporter that compares clocks; each response takes `responseMs`. */
  async poll(responseMs = 0): Promise<void> {
    this.requests = [];
    this.notes = [];
    const query = queryFrom((question) => {
      this.nowMs += responseMs;
      checkClocks(this.clockMs, -this.aheadMs, this.marks.newestMs);
      return this.respond(question);
    }, this.requests);
    try {
      this.notes = await this.request(query);
    } catch (error) {
      if (!(error instanceof ServiceError)) {
        throw error;
      }
      this.customer.pollFailed(this.#stream, error.message, this.clockMs);
    }
  }

  /** Polls so many times, the first time after one interval. */
  async polls(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.nowMs += this.intervalMs;
      await this.poll();
    }
  }

  /** Starts again as after a kill, from the high-water marks that were stored. */
  restart(stored: readonly StoredMark[] = [...this.marks.changedMarks('all')]): void {
    this.marks = new HighWaterMarks();
    this.marks.restore(stored);
    this.customer = this.#createCustomer();
  }

  metrics(): CustomerMetrics {
    return this.customer.metricsAt(this.clockMs);
  }
}

export interface StreamOptions {
  readonly conventions?: Partial<Conventions>;
  readonly startMs?: number | undefined;
  readonly timezone?: string;
  readonly stream?: MinuteStream;
  /** People of the days before, one record each. */
  readonly records?: readonly (readonly [agoMs: number, counts: readonly number[]])[];
}

const RECORDS = [
  [5 * DAY_MS, [40, 38]],
  [2 * HOUR_MS, [5, 0]],
  [7 * MINUTE_MS, [2, 1]],
] as const;

/** A stream of a simulated service whose responses a test may change. By default people. */
export class StreamFixture extends PollFixture {
  readonly stream: MinuteStream;
  readonly service: SimulatedPeople;
  /** Whether a slot is free for a baseline. */
  hasSlot = true;
  override respond: Respond = (question) => this.service.respond(question, this.nowMs);

  constructor(options: StreamOptions = {}) {
    const { conventions, records = RECORDS, stream = 'people', startMs, timezone } = options;
    const zone = new Zone(timezone ?? 'Europe/Copenhagen');
    super(stream, startMs, { zone, keyTimes: fittingKeyTimes(conventions?.minuteKey) });
    this.stream = stream;
    this.service = new SimulatedPeople(conventions, { timezone: zone.name });
    records.forEach(([agoMs, counts]) => this.record(this.nowMs - agoMs, counts));
  }

  record(...record: Parameters<SimulatedPeople['record']>): void {
    this.service.record(...record);
  }

  /** Returns the service's own totals. */
  served(fromMs = NOVEMBER.startMs): number[] {
    return this.service.total(fromMs, this.nowMs);
  }

  /** Changes every response from now on; without an argument, none. */
  change(by: (response: AggregatedResponse, question: Requested) => AggregatedResponse = (r) => r) {
    this.respond = (question) => by(this.service.respond(question, this.nowMs), question);
  }

  /** Empties the responses to these requests from now on. */
  empty(when: (question: Requested) => boolean): void {
    this.change((response, question) => (when(question) ? { ...response, rows: [] } : response));
  }

  get state(): StreamState {
    return this.customer.streamOf(this.stream).state;
  }

  context(): PollContext {
    return streamContext(this.customer, this.stream, this.times);
  }

  protected async request(query: Query): Promise<readonly PollNote[]> {
    const outcome = await this.pollFrom(this.state, this.context(), query);
    this.customer.pollSucceeded(this.stream, outcome, this.clockMs);
    return outcome.notes;
  }

  /** Polls as the scheduler does: a baseline waits for a slot where an older one can be counted on. */
  async pollFrom(
    state: StreamState,
    context: PollContext,
    query: Query,
    renewalMs = Math.floor(this.monotonicMs / HOUR_MS) * HOUR_MS,
  ): Promise<PollOutcome> {
    const mayRead = ({ baseline }: StreamState): boolean => this.hasSlot || baseline === undefined;
    const plan = mayRead(state) ? planPoll(state, context, renewalMs) : 'recent';
    const outcome = await pollStream(state, plan, context, query);
    return outcome.result.startsWith('needs') && mayRead(outcome.state)
      ? pollStream(state, 'baseline', context, query)
      : outcome;
  }

  /** Returns the exported counters; undefined where there is no series. */
  totals = () => this.#values('total');
  excess = () => this.#values('excess');
  today = () => this.#values('today');

  #values(value: keyof CounterValues): (number | undefined)[] {
    const { counters } = this.metrics();
    return COUNTERS[this.stream].map((counter) => counters[counter]?.[value]);
  }
}

/** Returns people that were polled once. */
export async function polledPeople(options?: StreamOptions): Promise<StreamFixture> {
  const people = new StreamFixture(options);
  await people.poll();
  return people;
}
