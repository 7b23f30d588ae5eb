/** The branches of a customer whose records a test writes, polled and requested step by step. */
import { HOUR_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import { serviceErrorOf } from '../../../src/base/errors.ts';
import type { AggregatedResponse } from '../../../src/base/model.ts';
import { isTodayKnown } from '../../../src/counting/branches/plan.ts';
import type { BranchState, CustomerCounts } from '../../../src/counting/branches/plan.ts';
import { BranchSites, countsToday, pastOf } from '../../../src/counting/branches/sites.ts';
import type { Calendar, Span } from '../../../src/counting/calendar/calendar.ts';
import { QUARTER_MS } from '../../../src/counting/occupancy/door-model.ts';
import type { PastDay } from '../../../src/counting/occupancy/door-model.ts';
import { daysBefore, pastDays } from '../../../src/counting/past/past.ts';
import { grandTotal, plus } from '../../../src/counting/rows/counts.ts';
import type { SiteDescription } from '../../../src/counting/customer-metrics.ts';
import { DayCounter, lastSeenIn } from '../../../src/counting/rows/day-counts.ts';
import type { CountsToday } from '../../../src/counting/rows/day-counts.ts';
import type { Query } from '../../../src/counting/rows/window-reader.ts';
import { countedDay } from '../../support/day-counts.ts';
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

export const NORTH = '101';
export const SOUTH = '102';
export const OTHERS: SiteDescription = {
  capacity: undefined,
  openingHours: undefined,
  staffedHours: undefined,
  estimate: false,
};

export class BranchFixture {
  readonly calendar: Calendar;
  readonly sites: BranchSites;
  nowMs: number;
  /** Since they were emptied. */
  requests: Requested[] = [];
  /** Changes a response or throws a ServiceError. */
  change: (response: AggregatedResponse) => AggregatedResponse = (response) => response;
  readonly #records: BranchRecord[] = [];

  constructor(
    nowMs = NOW_MS,
    calendar = CALENDAR,
    configured: Readonly<Record<string, SiteDescription>> = {},
  ) {
    this.nowMs = nowMs;
    this.calendar = calendar;
    this.sites = new BranchSites(calendar, calendar.zone.name, { configured, others: OTHERS });
  }

  get state(): BranchState {
    return this.sites.state;
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
    const known = this.#known().map((record) => [record.atMs, record.counts] as const);
    known.forEach((record) => past.add(...record));
    const ofToday = known.filter(([ms]) => ms >= day.startMs);
    const counts = countedDay(calendar, day, ofToday);
    const lastSeenMs = lastSeenIn(counts, endMs);
    return { today: { counts, atMs, endMs, lastSeenMs }, past: past.days() };
  }

  /** Polls the customer without a request. */
  count(): void {
    this.sites.counted(this.customer());
  }

  /** Sends requests until none is planned or one fails. Returns how many were sent. */
  async read(maxRequests = Infinity): Promise<number> {
    const before = this.requests.length;
    try {
      for (let sent = 0; sent < maxRequests && this.sites.plan() !== undefined; sent += 1) {
        await this.sites.readNext(this.query);
      }
    } catch (error) {
      serviceErrorOf(error);
    }
    return this.requests.length - before;
  }

  /** Polls the customer, sends requests and learns from what they show. */
  async poll(maxRequests?: number): Promise<number> {
    this.count();
    const sent = await this.read(maxRequests);
    while (this.sites.learn());
    return sent;
  }

  /** Returns the entries and exits of a key in the quarter-hours of a past day that have counts. */
  pastQuarters(key: string, daysAgo: number) {
    const past = pastOf(this.state, this.calendar, key);
    return quartersOf(pastDays(past).at(-daysAgo));
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
