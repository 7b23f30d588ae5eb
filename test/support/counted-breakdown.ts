/** One breakdown counted against answers that a test gives by hand, with its marks, over restarts. */
import type { Breakdown, Key, Question, AggregatedResponse } from '../../src/base/model.ts';
import { pollBreakdown } from '../../src/counting/breakdown.ts';
import { Calendar } from '../../src/counting/calendar.ts';
import { Customer } from '../../src/counting/customer.ts';
import type { BreakdownMetrics, KeyMetrics } from '../../src/counting/customer-metrics.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import type { PollNote } from '../../src/counting/poll.ts';
import type { Zone } from '../../src/counting/zone.ts';
import { queryFrom } from './ask.ts';

const RECONCILE_MS = 3_600_000;

export type Rows = readonly (readonly [key: Key, entered: number, exited: number])[];

export class CountedBreakdown {
  readonly breakdown: Breakdown;
  readonly #zone: Zone;
  readonly #startMs: number;
  /** What the service lists since the epoch, and since the day started. */
  totals: Rows = [];
  today: Rows = [];
  /** What it answers to single questions instead, the next one first. */
  readonly glitches: AggregatedResponse[] = [];
  branchNames: Readonly<Record<string, string>> = {};
  intervalMs = 300_000;
  nowMs: number;
  marks = new HighWaterMarks();
  customer: Customer;
  asked: Question[] = [];
  notes: readonly PollNote[] = [];

  constructor(zone: Zone, nowMs: number, breakdown: Breakdown = 'branch') {
    this.#zone = zone;
    this.nowMs = nowMs;
    this.#startMs = nowMs;
    this.breakdown = breakdown;
    this.customer = this.#create();
  }

  /** One poll, which asks as the service is now. A throw of it is a failed poll. */
  async poll(): Promise<void> {
    const { breakdown, customer } = this;
    const period = customer.periodAt(this.nowMs);
    this.asked = [];
    this.notes = [];
    try {
      const outcome = await pollBreakdown(
        customer.breakdownStateOf(breakdown),
        {
          breakdown,
          calendar: customer.calendar,
          period,
          nowMs: () => this.nowMs,
          monotonicMs: this.nowMs - this.#startMs,
          reconcileIntervalMs: RECONCILE_MS,
          marks: customer.marksOfKeys(breakdown, period),
          keysOfLastPeriod: customer.keysOfLastPeriod(breakdown, period),
        },
        queryFrom((question) => this.#answer(question), this.asked),
      );
      this.notes = outcome.notes;
      customer.breakdownSucceeded(breakdown, outcome.state, this.nowMs);
    } catch (error) {
      customer.pollFailed(breakdown, String(error), this.nowMs);
    }
  }

  /** So many polls, one interval apart. */
  async polls(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      this.nowMs += this.intervalMs;
      await this.poll();
    }
  }

  figures(): BreakdownMetrics {
    const figures = this.customer.metricsAt(this.nowMs).breakdowns[this.breakdown];
    if (figures === undefined) {
      throw new Error(`there is no ${this.breakdown}`);
    }
    return figures;
  }

  /** The exported counters of each key, in and out. */
  shown(): Readonly<Record<string, readonly (number | undefined)[]>> {
    return this.#ofKeys('total');
  }

  held(): Readonly<Record<string, readonly (number | undefined)[]>> {
    return this.#ofKeys('excess');
  }

  shownToday(): Readonly<Record<string, readonly (number | undefined)[]>> {
    return this.#ofKeys('today');
  }

  occupancies(): Readonly<Record<string, number | undefined>> {
    return Object.fromEntries(this.figures().keys.map(({ key, occupancy }) => [key, occupancy]));
  }

  keys(): readonly string[] {
    return this.figures().keys.map(({ key }) => key);
  }

  /** As after a kill: only the marks as text survive. */
  restart(): void {
    const text = [...this.marks.serialize(this.nowMs)].join('');
    this.marks = new HighWaterMarks();
    this.marks.restore(text, this.nowMs);
    this.customer = this.#create();
  }

  #answer({ aggregation, from }: Question): AggregatedResponse {
    const glitch = this.glitches.shift();
    const { startMs } = this.customer.calendar.dayAt(this.nowMs);
    const rows = Date.parse(from) === startMs ? this.today : this.totals;
    return glitch ?? readingOf(rows, aggregation);
  }

  #ofKeys(figure: 'total' | 'excess' | 'today') {
    function counts({ counters }: KeyMetrics): readonly (number | undefined)[] {
      return [counters.people_entered?.[figure], counters.people_exited?.[figure]];
    }
    return Object.fromEntries(this.figures().keys.map((one) => [one.key, counts(one)]));
  }

  #create(): Customer {
    const customer = new Customer({
      name: 'riverside',
      timezone: this.#zone.name,
      description: { labels: {}, capacity: undefined, openingHours: undefined, estimate: false },
      calendar: new Calendar(this.#zone, { hour: 4, minute: 0 }),
      streams: ['people'],
      owner: { service: 'https://s.example.org', clientId: 'riverside-api', customer: 'riverside' },
      marks: this.marks,
    });
    const { breakdown, branchNames, intervalMs } = this;
    customer.setBreakdowns({ breakdowns: [breakdown], branchNames, intervalMs });
    return customer;
  }
}

export function readingOf(rows: Rows, aggregation = 'branch'): AggregatedResponse {
  return { aggregation, rows: rows.map(([key, ...counts]) => ({ key, counts })) };
}
