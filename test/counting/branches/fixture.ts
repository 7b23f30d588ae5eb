/** The branches of a customer whose records a test writes, polled and requested step by step. */
import { HOUR_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import { ServiceError } from '../../../src/base/errors.ts';
import type { AggregatedResponse } from '../../../src/base/model.ts';
import { hasWindows } from '../../../src/counting/branches/day.ts';
import {
  decide,
  fold,
  isPastKnown,
  isTodayKnown,
  NO_BRANCHES,
  plan,
  requestSums,
  update,
} from '../../../src/counting/branches/plan.ts';
import type { BranchState, CustomerCounts } from '../../../src/counting/branches/plan.ts';
import { countsToday, pastOf } from '../../../src/counting/branches/sites.ts';
import type { Calendar, Span } from '../../../src/counting/calendar/calendar.ts';
import { QUARTER_MS } from '../../../src/counting/occupancy/door-model.ts';
import type { PastDay } from '../../../src/counting/occupancy/door-model.ts';
import { daysBefore, pastDays } from '../../../src/counting/past/past.ts';
import { grandTotal, plus } from '../../../src/counting/rows/counts.ts';
import { DayCounter, lastSeenIn } from '../../../src/counting/rows/day-counts.ts';
import type { CountsToday, DayCounts } from '../../../src/counting/rows/day-counts.ts';
import type { Query } from '../../../src/counting/rows/window-reader.ts';
import { CALENDAR, NOW_MS } from '../../support/owner.ts';
import { queryFrom, responseOf } from '../../support/responses.ts';
import type { Requested } from '../../support/responses.ts';

/** People who passed a door of a branch in a minute. */
interface BranchRecord {
  readonly key: string;
  readonly atMs: number;
  readonly counts: readonly number[];
  readonly arrivesMs: number;
}

export class BranchFixture {
  readonly calendar: Calendar;
  nowMs: number;
  state: BranchState = NO_BRANCHES;
  /** Since they were emptied. */
  requests: Requested[] = [];
  /** Changes a response or throws a ServiceError. */
  change: (response: AggregatedResponse) => AggregatedResponse = (response) => response;
  readonly #records: BranchRecord[] = [];
  /** The days before the newest poll: slow to count. */
  #past: { readonly key: string; readonly days: CustomerCounts['past'] } | undefined;

  constructor(nowMs = NOW_MS, calendar = CALENDAR) {
    this.nowMs = nowMs;
    this.calendar = calendar;
  }

  /** The day at `nowMs`. */
  get day(): Span {
    return this.calendar.dayAt(this.nowMs);
  }

  /** Requests what has arrived. */
  get query(): Query {
    return queryFrom((question) => this.#respond(question), this.requests);
  }

  /** Adds people who arrive at the service after `lateMs`. */
  record(
    key: string,
    atMs: number,
    [entered = 0, exited = 0]: readonly number[],
    lateMs = 0,
  ): void {
    this.#records.push({ key, atMs, counts: [entered, exited], arrivesMs: atMs + lateMs });
  }

  /** Returns the customer's counts, which have what has arrived. */
  customer(): CustomerCounts {
    const { day } = this;
    const past = daysBefore(this.calendar, day);
    const known = this.#known();
    const before = known.filter(({ atMs }) => atMs < day.startMs);
    const key = `${day.startMs} ${before.length}`;
    if (this.#past?.key !== key) {
      const quarters = new DayCounter(this.calendar, past, 'people', QUARTER_MS);
      before.forEach(({ atMs, counts }) => quarters.add(atMs, counts));
      this.#past = { key, days: quarters.days() };
    }
    const minutes = new DayCounter(this.calendar, [day], 'people');
    known.forEach(({ atMs, counts }) => {
      if (atMs >= day.startMs) {
        minutes.add(atMs, counts);
      }
    });
    const [counts] = minutes.days() as [DayCounts];
    const [atMs, endMs] = [this.nowMs, this.nowMs];
    const today = { counts, atMs, endMs, lastSeenMs: lastSeenIn(counts, endMs) };
    return { today, past: this.#past.days };
  }

  /** Takes what was stored. */
  restore(state: BranchState): void {
    this.state = state;
  }

  /** Polls the customer, and sends requests until none is planned or one fails. Returns how many were sent. */
  async poll(maxRequests = Infinity): Promise<number> {
    const sent = this.requests.length;
    const customer = this.customer();
    const { query } = this;
    this.state = update(this.state, this.calendar, customer);
    for (let task = plan(this.state, customer); task; task = plan(this.state, customer)) {
      if (this.requests.length - sent >= maxRequests) {
        break;
      }
      try {
        const table = await requestSums(task, this.calendar, query);
        this.state = update(decide(this.state, task, table), this.calendar, customer);
      } catch (error) {
        if (!(error instanceof ServiceError)) {
          throw error;
        }
        break;
      }
    }
    if (isPastKnown(this.state) && this.state.past.some(hasWindows)) {
      const { keys } = this.state;
      const pasts = keys.map((key) => [key, pastOf(this.state, this.calendar, key)] as const);
      this.state = fold(this.state, new Map(pasts));
    }
    return this.requests.length - sent;
  }

  /** Returns the entries and exits of a key in the quarter-hours of a past day that have counts. */
  pastQuarters(key: string, daysAgo: number): (readonly [quarter: number, ...counts: number[]])[] {
    const past = this.state.pasts.get(key);
    return quartersOf(past && pastDays(past).at(-daysAgo));
  }

  /** Returns the entries and exits of a key on each past day, oldest first. */
  pastTotals(key: string): readonly number[][] {
    const past = this.state.pasts.get(key);
    return (past ? pastDays(past) : []).map(({ counts }) => counts.map(grandTotal));
  }

  /** Polls at each so many minutes until an instant. */
  async pollUntil(endMs: number, everyMs = MINUTE_MS): Promise<void> {
    while (this.nowMs < endMs) {
      this.nowMs = Math.min(endMs, this.nowMs + everyMs);
      await this.poll();
    }
  }

  /** Returns today's counts of a key; undefined unless they are those of the customer's newest poll. */
  today(key: string): CountsToday | undefined {
    const customer = this.customer();
    const { today } = this.state;
    return today && isTodayKnown(this.state, customer)
      ? countsToday(this.state, this.calendar, today, customer.today, key)
      : undefined;
  }

  /** Returns today's entries and exits of a key; undefined while they are unknown. */
  sumsToday(key: string): readonly number[] | undefined {
    return this.today(key)?.counts.counts.map(grandTotal);
  }

  /** Returns today's sums at the ends of windows by key, each window once that has counts. */
  windows(key: string): (readonly [window: number, ...counts: number[]])[] {
    return quartersOf(this.today(key)?.counts);
  }

  /** Returns the same fixture with nothing but the records and the time. */
  restarted(calendar = this.calendar): BranchFixture {
    const fresh = new BranchFixture(this.nowMs, calendar);
    fresh.#records.push(...this.#records);
    return fresh;
  }

  #known(): readonly BranchRecord[] {
    return this.#records.filter(({ arrivesMs }) => arrivesMs < this.nowMs);
  }

  #respond({ aggregation, from, to }: Requested): AggregatedResponse {
    const fromMs = Date.parse(from);
    const toMs = to === undefined ? Infinity : Date.parse(to);
    const rows = new Map<string, readonly number[]>();
    for (const { key, atMs, counts } of this.#known()) {
      if (atMs >= fromMs && atMs < toMs) {
        rows.set(key, plus(rows.get(key) ?? [0, 0], counts));
      }
    }
    const all = Array.from(rows, ([key, counts]) => ({ key, counts }));
    return this.change(responseOf(all, aggregation));
  }
}

function quartersOf(
  { first, counts }: Pick<PastDay, 'first' | 'counts'> = { first: 0, counts: [] },
) {
  return Array.from({ length: counts[0]?.length ?? 0 }, (_, i) => {
    return [first + i, ...counts.map((steps) => steps[i] ?? 0)] as const;
  }).filter(([, ...ofQuarter]) => ofQuarter.some((count) => count !== 0));
}

/** An instant of the fixture's first day. */
export function at(hour: number, minute = 0, daysBefore = 0): number {
  const { startMs } = CALENDAR.dayAt(NOW_MS);
  return startMs + (hour - 4 - 24 * daysBefore) * HOUR_MS + minute * MINUTE_MS;
}
