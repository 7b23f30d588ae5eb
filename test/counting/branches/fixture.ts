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

  constructor(nowMs = NOW_MS, calendar = CALENDAR) {
    this.nowMs = nowMs;
    this.calendar = calendar;
  }

  get day(): Span {
    return this.calendar.dayAt(this.nowMs);
  }

  get query(): Query {
    return queryFrom((question) => this.#respond(question), this.requests);
  }

  /** Adds people who arrive at the service after `lateMs`. */
  record(key: string, atMs: number, counts: readonly number[], lateMs = 0): void {
    this.#records.push({ key, atMs, counts, arrivesMs: atMs + lateMs });
  }

  /** Returns the customer's counts, which have what has arrived. */
  customer(): CustomerCounts {
    const { calendar, day, nowMs: atMs, nowMs: endMs } = this;
    const past = new DayCounter(calendar, daysBefore(calendar, day), 'people', QUARTER_MS);
    const today = new DayCounter(calendar, [day], 'people');
    for (const record of this.#known()) {
      (record.atMs < day.startMs ? past : today).add(record.atMs, record.counts);
    }
    const [counts] = today.days() as [DayCounts];
    const lastSeenMs = lastSeenIn(counts, endMs);
    return { today: { counts, atMs, endMs, lastSeenMs }, past: past.days() };
  }

  restore(state: BranchState): void {
    this.state = state;
  }

  /** Polls the customer, and sends requests until none is planned or one fails. Returns how many were sent. */
  async poll(maxRequests = Infinity): Promise<number> {
    const { calendar } = this;
    const before = this.requests.length;
    const customer = this.customer();
    this.state = update(this.state, calendar, customer);
    try {
      for (let sent = 0; sent < maxRequests; sent += 1) {
        const task = plan(this.state, customer);
        if (task === undefined) {
          break;
        }
        const table = await requestSums(task, calendar, this.query);
        this.state = update(decide(this.state, task, table), calendar, customer);
      }
    } catch (error) {
      if (!(error instanceof ServiceError)) {
        throw error;
      }
    }
    if (isPastKnown(this.state) && this.state.past.some(hasWindows)) {
      const { keys } = this.state;
      const pasts = keys.map((key) => [key, pastOf(this.state, calendar, key)] as const);
      this.state = fold(this.state, new Map(pasts));
    }
    return this.requests.length - before;
  }

  /** Returns the entries and exits of a key in the quarter-hours of a past day that have counts. */
  pastQuarters(key: string, daysAgo: number) {
    const past = this.state.pasts.get(key);
    return quartersOf(past && pastDays(past).at(-daysAgo));
  }

  /** Returns the entries and exits of a key on each past day, oldest first. */
  pastTotals(key: string): readonly number[][] {
    const past = this.state.pasts.get(key);
    return (past ? pastDays(past) : []).map(({ counts }) => counts.map(grandTotal));
  }

  async pollAt(atMs: number): Promise<void> {
    this.nowMs = atMs;
    await this.poll();
  }

  /** Polls at each so many minutes until an instant. */
  async pollUntil(endMs: number, everyMs = MINUTE_MS): Promise<void> {
    while (this.nowMs < endMs) {
      await this.pollAt(Math.min(endMs, this.nowMs + everyMs));
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
  windows(key: string) {
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
    const [fromMs, toMs] = [Date.parse(from), to === undefined ? Infinity : Date.parse(to)];
    const rows = new Map<string, readonly number[]>();
    for (const { key, atMs, counts } of this.#known()) {
      if (atMs >= fromMs && atMs < toMs) {
        rows.set(key, plus(rows.get(key) ?? [0, 0], counts));
      }
    }
    return this.change(responseOf(Object.fromEntries(rows), aggregation));
  }
}

function quartersOf(day?: Pick<PastDay, 'first' | 'counts'>) {
  const { first = 0, counts = [] } = day ?? {};
  return Array.from(counts[0] ?? [], (_, i) => [
    first + i,
    ...counts.map((steps) => steps[i]),
  ]).filter(([, ...ofQuarter]) => ofQuarter.some((count) => count !== 0));
}

/** An instant of the fixture's first day. */
export function at(hour: number, minute = 0, daysBefore = 0): number {
  const { startMs } = CALENDAR.dayAt(NOW_MS);
  return startMs + (hour - 4 - 24 * daysBefore) * HOUR_MS + minute * MINUTE_MS;
}
