/** Streams and breakdowns whose polls a test starts one by one, over restarts. */
import { COUNTERS } from '../../src/base/model.ts';
import type {
  AggregatedResponse,
  Breakdown,
  MinuteStream,
  WindowQuery,
  Row,
  Stream,
} from '../../src/base/model.ts';
import { MINUTE_MS } from '../../src/counting/calendar/calendar.ts';
import type { Customer } from '../../src/counting/customer.ts';
import type {
  BreakdownMetrics,
  CounterValues,
  CustomerMetrics,
} from '../../src/counting/customer-metrics.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import type { PollNote } from '../../src/counting/totals/state.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import { runPoll } from '../../src/polling/poll-job.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { queryFrom } from '../support/ask.ts';
import { NOVEMBER, NOW_MS, OWNER } from '../support/owner.ts';
import { customerNamed } from '../support/polled.ts';
import { SimulatedPeople } from '../support/simulated-people.ts';

export { MINUTE_MS };
export const HOUR_MS = 3_600_000;
export const RECONCILE_MS = 60 * MINUTE_MS;
/** A Wednesday, 11:00 in Copenhagen. */
export const START_MS = NOW_MS;

type Answer = (question: WindowQuery, nowMs: number) => AggregatedResponse;
type Values = readonly (number | undefined)[];

abstract class Counted {
  readonly #polled: Stream;
  readonly #streams: readonly MinuteStream[];
  readonly #timezone: string;
  readonly #startMs: number;
  customer: Customer;
  marks = new HighWaterMarks();
  /** The service's time, and by how much the exporter's clock is ahead of it. */
  nowMs: number;
  aheadMs = 0;
  serviceTellsTime = true;
  intervalMs = MINUTE_MS;
  /** Whether a baseline may be read that is not required. */
  mayReadBaseline = true;
  /** The requests of the last poll, and what it logs. */
  asked: WindowQuery[] = [];
  notes: readonly PollNote[] = [];

  constructor(polled: Stream, streams: readonly MinuteStream[], nowMs: number, timezone?: string) {
    this.#polled = polled;
    this.#streams = streams;
    this.#timezone = timezone ?? 'Europe/Copenhagen';
    this.nowMs = nowMs;
    this.#startMs = nowMs;
    this.customer = this.#create();
  }

  protected abstract answer(question: WindowQuery): AggregatedResponse;

  get clockMs(): number {
    return this.nowMs + this.aheadMs;
  }

  figures(): CustomerMetrics {
    return this.customer.metricsAt(this.clockMs);
  }

  /** One poll, in which each response takes `answerMs`. It fails if the service throws a ServiceError. */
  async poll(answerMs = 0): Promise<void> {
    this.asked = [];
    this.notes = [];
    const query = queryFrom((question) => {
      this.nowMs += answerMs;
      return this.answer(question);
    }, this.asked);
    const job = {
      customer: this.customer,
      stream: this.#polled,
      client: { query },
      intervalMs: HOUR_MS,
      phase: 0,
      dueMs: 0,
      running: undefined,
      isExtraPoll: false,
      readingHistory: undefined,
      historyRetry: undefined,
    };
    const elapsedMs = this.nowMs - this.#startMs;
    const limits = {
      renewalMs: Math.floor(elapsedMs / RECONCILE_MS) * RECONCILE_MS,
      takeSlot: () => this.mayReadBaseline,
      stop: new AbortController(),
    };
    await runPoll(job, limits, {
      clock: {
        nowMs: () => this.clockMs,
        monotonicMs: () => this.nowMs - this.#startMs,
        sleep: () => new Promise(() => {}),
        after: () => () => {},
      },
      serviceNowMs: () => (this.serviceTellsTime ? this.nowMs : this.clockMs),
      reconcileIntervalMs: RECONCILE_MS,
      log: { succeeded: (_, notes) => (this.notes = notes), failed() {} },
      observer: { pollEnded() {}, changed() {} },
    });
  }

  /** So many polls, one interval apart. */
  async polls(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.nowMs += this.intervalMs;
      await this.poll();
    }
  }

  /** As after a kill: only the marks as text survive, or not even they. */
  restart(keepMarks = true): void {
    const text = [...this.marks.serialize(this.clockMs)].join('');
    this.marks = new HighWaterMarks();
    if (keepMarks) {
      this.marks.restore(text, this.clockMs);
    }
    this.customer = this.#create();
  }

  #create(): Customer {
    const [zone, streams] = [new Zone(this.#timezone), this.#streams];
    return customerNamed('riverside', this.marks, { zone, streams, owner: OWNER });
  }
}

export class CountedStream extends Counted {
  readonly #stream: MinuteStream;
  readonly #answer: Answer;

  constructor(answer: Answer, nowMs: number, timezone?: string, stream: MinuteStream = 'people') {
    super(stream, [stream], nowMs, timezone);
    this.#stream = stream;
    this.#answer = answer;
  }

  protected answer(question: WindowQuery): AggregatedResponse {
    return this.#answer(question, this.nowMs);
  }

  /** The exported counters of the stream; undefined where there is no series. */
  totals(): Values {
    return this.#values('total');
  }

  excess(): Values {
    return this.#values('excess');
  }

  today(): Values {
    return this.#values('today');
  }

  #values(value: keyof CounterValues): Values {
    const { counters } = this.figures();
    return COUNTERS[this.#stream].map((counter) => counters[counter]?.[value]);
  }
}

/** Logins whose total is whatever a test says, without keys that can be parsed. */
export function countedLogins(
  total: (aggregation: string) => number,
  nowMs = NOW_MS,
): CountedStream {
  return new CountedStream(
    ({ aggregation }) => ({ aggregation, rows: [{ key: 'x', counts: [total(aggregation)] }] }),
    nowMs,
    undefined,
    'logins',
  );
}

interface People {
  readonly conventions?: Partial<Conventions>;
  readonly startMs?: number;
  readonly timezone?: string;
  /** People of the days before, one row each. */
  readonly records?: readonly (readonly [agoMs: number, counts: readonly number[]])[];
}

const RECORDS = [
  [5 * 24 * HOUR_MS, [40, 38]],
  [2 * HOUR_MS, [5, 0]],
  [7 * MINUTE_MS, [2, 1]],
] as const;

/** People of a simulated service whose responses can be changed. */
export function countedPeople(people: People = {}) {
  const {
    conventions,
    startMs = START_MS,
    timezone = 'Europe/Copenhagen',
    records = RECORDS,
  } = people;
  const service = new SimulatedPeople(conventions, { timezone });
  let change:
    ((response: AggregatedResponse, question: WindowQuery) => AggregatedResponse) | undefined;
  function answer(question: WindowQuery, nowMs: number): AggregatedResponse {
    const response = service.answer(question, nowMs);
    return change?.(response, question) ?? response;
  }
  const counted = new CountedStream(answer, startMs, timezone);
  records.forEach(([agoMs, counts]) => service.record(startMs - agoMs, counts));
  return {
    counted,
    service,
    record: service.record.bind(service),
    minutes: (count: number) => counted.polls(count),
    truth: () => service.total(NOVEMBER.startMs, counted.nowMs),
    /** Changes every response from now on. */
    distort: (by: NonNullable<typeof change>) => {
      change = by;
    },
    /** Empties the responses to these requests from now on. */
    empty: (when: (question: WindowQuery) => boolean) => {
      change = (response, question) => (when(question) ? { ...response, rows: [] } : response);
    },
  };
}

/** Entered and exited by key, or the rows of a response. */
export type Rows = Readonly<Record<string, readonly number[]>> | readonly Row[];
type ValuesByKey = Readonly<Record<string, Values>>;

export class CountedBreakdown extends Counted {
  readonly #breakdown: Breakdown;
  /** What the service counts since the period started, and since the day started. */
  totalRows: Rows;
  todayRows: Rows;
  /** What it responds to single requests instead, the next one first. */
  readonly glitches: AggregatedResponse[] = [];
  branchNames: Readonly<Record<string, string>> = {};
  override intervalMs = 5 * MINUTE_MS;

  constructor(totalRows: Rows = {}, todayRows: Rows = {}, breakdown: Breakdown = 'branch') {
    super(breakdown, ['people'], START_MS);
    this.#breakdown = breakdown;
    this.totalRows = totalRows;
    this.todayRows = todayRows;
    this.configure();
  }

  configure(): void {
    const { branchNames, intervalMs } = this;
    const breakdowns = [this.#breakdown];
    this.customer.breakdowns.configure({ breakdowns, branchNames, intervalMs });
  }

  override restart(keepMarks = true): void {
    super.restart(keepMarks);
    this.configure();
  }

  protected answer({ aggregation, from }: WindowQuery): AggregatedResponse {
    const { startMs } = this.customer.calendar.dayAt(this.nowMs);
    const rows = Date.parse(from) === startMs ? this.todayRows : this.totalRows;
    return this.glitches.shift() ?? responseOf(rows, aggregation);
  }

  metrics(): BreakdownMetrics {
    const metrics = this.figures().breakdowns[this.#breakdown];
    if (metrics === undefined) {
      throw new Error(`there is no ${this.#breakdown}`);
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
    return Object.fromEntries(
      this.metrics().keys.map(({ key, counters }) => [
        key,
        COUNTERS.people.map((name) => counters[name]?.[value]),
      ]),
    );
  }
}

export function responseOf(given: Rows, aggregation = 'branch'): AggregatedResponse {
  const rows =
    given instanceof Array
      ? given
      : Object.entries(given).map(([key, counts]) => ({ key, counts }));
  return { aggregation, rows };
}
