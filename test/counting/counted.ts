/** Streams and breakdowns whose polls a test starts one by one, over restarts. */
import { COUNTERS } from '../../src/base/model.ts';
import type {
  AggregatedResponse,
  Breakdown,
  CounterName,
  MinuteStream,
  Question,
  Stream,
} from '../../src/base/model.ts';
import type { Customer } from '../../src/counting/customer.ts';
import type {
  BreakdownMetrics,
  CounterValues,
  CustomerMetrics,
} from '../../src/counting/customer-metrics.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import type { PollNote } from '../../src/counting/poll.ts';
import { Zone } from '../../src/counting/zone.ts';
import { runPoll } from '../../src/polling/poll-job.ts';
import type { PollJob } from '../../src/polling/poll-job.ts';
import { queryFrom } from '../support/ask.ts';
import { NOW_MS, OWNER } from '../support/owner.ts';
import { customerNamed } from '../support/polled.ts';
import { SmallService } from '../support/small-service.ts';
import type { SmallConventions } from '../support/small-service.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const RECONCILE_MS = 3_600_000;
const COPENHAGEN = new Zone('Europe/Copenhagen');
/** A Wednesday, 11:00 in Copenhagen. */
export const START_MS = NOW_MS;
const PERIOD_MS = Date.UTC(2026, 10, 1, 3);

abstract class Counted {
  /** What is polled. */
  protected abstract readonly polled: Stream;
  readonly #zone: Zone;
  readonly #streams: readonly MinuteStream[];
  readonly #startMs: number;
  customer: Customer;
  marks = new HighWaterMarks();
  nowMs: number;
  /** The requests of the last poll, and what it logs. */
  asked: Question[] = [];
  notes: readonly PollNote[] = [];

  constructor(zone: Zone, nowMs: number, stream: MinuteStream) {
    this.#zone = zone;
    this.nowMs = nowMs;
    this.#startMs = nowMs;
    this.#streams = [stream];
    this.customer = this.#create();
  }

  protected abstract answer(question: Question): AggregatedResponse;

  get #elapsedMs(): number {
    return this.nowMs - this.#startMs;
  }

  figures(): CustomerMetrics {
    return this.customer.metricsAt(this.nowMs);
  }

  /** One poll, in which each response takes `answerMs`. It fails if the service throws a ServiceError. */
  async poll(answerMs = 0): Promise<void> {
    this.asked = [];
    this.notes = [];
    const query = queryFrom((question) => {
      this.nowMs += answerMs;
      return this.answer(question);
    }, this.asked);
    const job: PollJob = {
      customer: this.customer,
      stream: this.polled,
      client: { query },
      intervalMs: HOUR_MS,
      phase: 0,
      dueMs: 0,
      running: undefined,
      isExtraPoll: false,
      readingHistory: undefined,
      historyRetryMs: undefined,
    };
    const limits = {
      renewalMs: Math.floor(this.#elapsedMs / RECONCILE_MS) * RECONCILE_MS,
      takeSlot: () => true,
      stop: new AbortController(),
    };
    await runPoll(job, limits, {
      clock: {
        nowMs: () => this.nowMs,
        monotonicMs: () => this.#elapsedMs,
        sleep: () => new Promise(() => {}),
        after: () => () => {},
      },
      serviceNowMs: () => this.nowMs,
      reconcileIntervalMs: RECONCILE_MS,
      log: { succeeded: (_, notes) => (this.notes = notes), failed() {} },
      observer: { pollEnded() {}, changed() {} },
    });
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
    const [zone, streams] = [this.#zone, this.#streams];
    return customerNamed(OWNER.customer, this.marks, { zone, streams, owner: OWNER });
  }
}

export class CountedStream extends Counted {
  protected readonly polled: MinuteStream;
  readonly #answer: (question: Question, nowMs: number) => AggregatedResponse;

  constructor(
    zone: Zone,
    nowMs: number,
    answer: (question: Question, nowMs: number) => AggregatedResponse,
    stream: MinuteStream = 'people',
  ) {
    super(zone, nowMs, stream);
    this.#answer = answer;
    this.polled = stream;
  }

  protected answer(question: Question): AggregatedResponse {
    return this.#answer(question, this.nowMs);
  }

  /** So many polls, a minute apart. */
  async minutes(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.nowMs += MINUTE_MS;
      await this.poll();
    }
  }

  /** The exported counters of the stream; undefined where there is no series. */
  totals(): (number | undefined)[] {
    return this.#values('total');
  }

  excess(): (number | undefined)[] {
    return this.#values('excess');
  }

  today(): (number | undefined)[] {
    return this.#values('today');
  }

  #values(value: keyof CounterValues): (number | undefined)[] {
    const { counters } = this.figures();
    return COUNTERS[this.polled].map((counter) => counters[counter]?.[value]);
  }
}

/** Logins whose total is whatever a test says, without keys that can be parsed. */
export function countedLogins(total: () => number, nowMs = NOW_MS): CountedStream {
  return new CountedStream(
    COPENHAGEN,
    nowMs,
    ({ aggregation }) => ({ aggregation, rows: [{ key: 'x', counts: [total()] }] }),
    'logins',
  );
}

interface People {
  readonly conventions?: Partial<SmallConventions>;
  readonly startMs?: number;
  readonly serviceZone?: Zone;
  /** People of the days before, one row each. */
  readonly records?: readonly (readonly [agoMs: number, counts: readonly number[]])[];
}

const RECORDS = [
  [5 * 24 * HOUR_MS, [40, 38]],
  [2 * HOUR_MS, [5, 0]],
  [7 * MINUTE_MS, [2, 1]],
] as const;

/** People of a small service whose responses can be changed. */
export function countedPeople(people: People = {}) {
  const { conventions, startMs = START_MS, serviceZone = COPENHAGEN, records = RECORDS } = people;
  const service = new SmallService(serviceZone, 2, conventions);
  let change:
    ((response: AggregatedResponse, question: Question) => AggregatedResponse) | undefined;
  const counted: CountedStream = new CountedStream(COPENHAGEN, startMs, (question, nowMs) => {
    const response = service.answer(question, nowMs);
    return change?.(response, question) ?? response;
  });
  function record(eventMs: number, counts: readonly number[], arrivalMs = eventMs): void {
    service.records.push({ eventMs, arrivalMs, counts });
  }
  records.forEach(([agoMs, counts]) => record(startMs - agoMs, counts));
  return {
    counted,
    service,
    record,
    minutes: (count: number) => counted.minutes(count),
    truth: () => service.total(PERIOD_MS, counted.nowMs),
    /** Changes every response from now on. */
    distort: (by: NonNullable<typeof change>) => {
      change = by;
    },
    /** Empties the responses to these requests from now on. */
    empty: (when: (question: Question) => boolean) => {
      change = (response, question) => (when(question) ? { ...response, rows: [] } : response);
    },
  };
}

/** Key, entered and exited. */
export type Rows = readonly (readonly [key: string | number, ...counts: number[]])[];
type ValuesByKey = Readonly<Record<string, readonly (number | undefined)[]>>;

export class CountedBreakdown extends Counted {
  protected readonly polled: Breakdown;
  /** What the service counts since the period started, and since the day started. */
  totalRows: Rows = [];
  todayRows: Rows = [];
  /** What it responds to single requests instead, the next one first. */
  readonly glitches: AggregatedResponse[] = [];
  branchNames: Readonly<Record<string, string>> = {};
  intervalMs = 5 * MINUTE_MS;

  constructor(breakdown: Breakdown = 'branch') {
    super(COPENHAGEN, START_MS, 'people');
    this.polled = breakdown;
    this.configure();
  }

  configure(): void {
    const { polled, branchNames, intervalMs } = this;
    this.customer.breakdowns.configure({ breakdowns: [polled], branchNames, intervalMs });
  }

  override restart(keepMarks = true): void {
    super.restart(keepMarks);
    this.configure();
  }

  protected answer({ aggregation, from }: Question): AggregatedResponse {
    const { startMs } = this.customer.calendar.dayAt(this.nowMs);
    const rows = Date.parse(from) === startMs ? this.todayRows : this.totalRows;
    return this.glitches.shift() ?? responseOf(rows, aggregation);
  }

  /** So many polls, one interval apart. */
  async polls(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      this.nowMs += this.intervalMs;
      await this.poll();
    }
  }

  metrics(): BreakdownMetrics {
    const metrics = this.figures().breakdowns[this.polled];
    if (metrics === undefined) {
      throw new Error(`there is no ${this.polled}`);
    }
    return metrics;
  }

  /** The exported counters of each key, in and out. */
  totals(): ValuesByKey {
    return this.#byKey('total');
  }

  excess(): ValuesByKey {
    return this.#byKey('excess');
  }

  today(): ValuesByKey {
    return this.#byKey('today');
  }

  occupancies(): Readonly<Record<string, number | undefined>> {
    return Object.fromEntries(this.metrics().keys.map(({ key, occupancy }) => [key, occupancy]));
  }

  keys(): readonly string[] {
    return this.metrics().keys.map(({ key }) => key);
  }

  #byKey(value: keyof CounterValues): ValuesByKey {
    const names: readonly CounterName[] = COUNTERS.people;
    return Object.fromEntries(
      this.metrics().keys.map(({ key, counters }) => [
        key,
        names.map((name) => counters[name]?.[value]),
      ]),
    );
  }
}

export function responseOf(rows: Rows, aggregation = 'branch'): AggregatedResponse {
  return { aggregation, rows: rows.map(([key, ...counts]) => ({ key, counts })) };
}
