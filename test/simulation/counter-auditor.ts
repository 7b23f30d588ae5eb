/**
 * One exporter's counters of people and logins: what must never happen to them, and what they must be
 * in the end.
 */
import type { SimulatedService } from '../../src/simulator/service.ts';
import type { WorldClock } from './clock.ts';
import type { Occasion } from './coverage.ts';
import type { DrawnWorld } from './drawn-world.ts';
import { hasExactPolls, lagMs, mayBeEmptyThrice, mayFall, takenBack } from './excuses.ts';
import { IncreaseAuditor } from './increase-auditor.ts';
import type { PollTimes } from './poll-times.ts';
import type { Scrape } from './scrape.ts';

/** How a counter is called in the exposition (with `_total` and `_today`), in held counts, and by the truth. */
const COUNTERS = [
  ['library_people_entered', 'people_entered', 'entered', 'people'],
  ['library_people_exited', 'people_exited', 'exited', 'people'],
  ['library_logins', 'logins', 'logins', 'logins'],
] as const;
type CounterName = (typeof COUNTERS)[number][2];

const LAST_SUCCESS = 'library_poll_last_success_timestamp_seconds';
const DAY_MS = 86_400_000;
const BELIEVED_AT_ONCE = 1000;
/** What was shown for so long is on the disk. */
const WRITTEN_WITHIN_MS = 11_000;

/** What was seen of one counter in one epoch. */
interface Seen {
  readonly periodMs: number;
  /** Shown last; lower values are falls. */
  shown: number;
  shownSinceMs: number;
  /** What was shown before that. */
  shownBefore: number;
  held: number;
  /** The most that the service had at any scrape. */
  most: number;
}

export interface CounterAuditorOptions {
  readonly world: DrawnWorld;
  readonly service: SimulatedService;
  readonly clock: WorldClock;
  readonly polls: PollTimes;
  readonly violated: (what: string) => void;
  readonly occasion: (occasion: Occasion) => void;
}

/** What one scrape says of one customer, and when. */
export interface CustomerScrape {
  readonly exporter: string;
  readonly customer: string;
  readonly scrape: Scrape;
  readonly periodMs: number;
  readonly dayMs: number;
  /** How far the exporter's clock is ahead. */
  readonly aheadMs: number;
}

export class CounterAuditor {
  readonly #options: CounterAuditorOptions;
  readonly #seen = new Map<string, Seen>();
  readonly increases: IncreaseAuditor;

  constructor(options: CounterAuditorOptions) {
    this.#options = options;
    this.increases = new IncreaseAuditor(options.world, options.service);
  }

  /** After a kill only the marks that were on the disk bind, after a loss of the file none does. */
  killed(exporter: string, isWhole: boolean): void {
    const writtenMs = this.#options.clock.nowMs() - WRITTEN_WITHIN_MS;
    for (const [series, seen] of this.#seen) {
      if (series.startsWith(exporter)) {
        const written = seen.shownSinceMs <= writtenMs ? seen.shown : seen.shownBefore;
        this.#seen.set(series, { ...seen, shown: isWhole ? written : 0 });
      }
    }
  }

  audit(of: CustomerScrape): void {
    const { exporter, customer, scrape, periodMs, dayMs, aheadMs } = of;
    const { world, service, clock, polls, violated, occasion } = this.#options;
    const served = service.served(customer, periodMs);
    const sinceDay = service.served(customer, dayMs);
    for (const [name, kind, truth, stream] of COUNTERS) {
      const series = `${exporter} ${name} ${customer}`;
      const today = scrape.value(`${name}_today`, customer) ?? 0;
      if (today > sinceDay[truth] + takenBack(world, sinceDay[truth])) {
        violated(`${series} today is ${today}, and the service has ${sinceDay[truth]}`);
      }
      const seen = this.#seenOf(series, periodMs);
      seen.most = Math.max(seen.most, served[truth]);
      const value = scrape.value(`${name}_total`, customer);
      if (value === undefined) {
        occasion('no counter at the first scrapes');
        continue;
      }
      const lastSuccessMs = 1000 * (scrape.value(LAST_SUCCESS, customer, stream) ?? NaN);
      if (Number.isNaN(lastSuccessMs)) {
        violated(`${series} is shown before the first good poll`);
        continue;
      }
      const held = scrape.value('library_counter_excess', customer, kind) ?? NaN;
      this.#expectCounted(series, of, truth, value, lastSuccessMs);
      const tookMs = polls.tookMs(exporter, stream, lastSuccessMs);
      this.#expectExact(series, of, truth, value - held, { lastSuccessMs, tookMs });
      this.#expectNoFall(series, value, held, seen);
      const atMs = clock.nowMs();
      this.increases.add(series, {
        customer,
        truth,
        periodMs,
        value,
        atMs,
        aheadMs,
        lastSuccessMs,
      });
    }
  }

  /**
   * The service has been well for a reconcile interval: every counter less what it holds is the
   * service's total, as it was at some instant between the last anchor and now.
   */
  expectTruth({ exporter, customer, scrape, periodMs, dayMs }: CustomerScrape): void {
    const { world, clock, polls, violated } = this.#options;
    for (const [name, kind, truth, stream] of COUNTERS) {
      const series = `${exporter} ${name} ${customer}`;
      if (scrape.value('library_up', customer, stream) !== 1) {
        violated(`${exporter} library_up ${customer} ${stream} is not 1 in the end`);
        continue;
      }
      const value = scrape.value(`${name}_total`, customer);
      const held = scrape.value('library_counter_excess', customer, kind);
      const total = (value ?? NaN) - (held ?? NaN);
      const lastSuccessMs = 1000 * (scrape.value(LAST_SUCCESS, customer, stream) ?? NaN);
      const tookMs = polls.tookMs(exporter, stream, lastSuccessMs);
      const longestMs = lagMs(world, lastSuccessMs - dayMs, tookMs);
      const [least, most] = this.#rangeOf(customer, periodMs, truth, lastSuccessMs, longestMs);
      // That there is nothing yet has to come three times, and that there is very much twice.
      const isNew = clock.nowMs() - periodMs < 5 * world.intervalMs;
      const isDoubted = least <= 0 || most > BELIEVED_AT_ONCE;
      const mayBeAbsent = value === undefined && isNew && isDoubted;
      if (!(total >= least && total <= most) && !mayBeAbsent) {
        violated(`${series} less held is ${total} in the end, and not ${least} to ${most}`);
      }
    }
  }

  #seenOf(series: string, periodMs: number): Seen {
    const known = this.#seen.get(series);
    if (known?.periodMs === periodMs) {
      return known;
    }
    const seen = { periodMs, shown: 0, shownSinceMs: 0, shownBefore: 0, held: 0, most: 0 };
    this.#seen.set(series, seen);
    return seen;
  }

  /** No 0 where there were counts: what a fault kept out of one anchor is in the next. */
  #expectCounted(
    series: string,
    { customer, periodMs, aheadMs }: CustomerScrape,
    truth: CounterName,
    value: number,
    lastSuccessMs: number,
  ): void {
    const { world, service, violated } = this.#options;
    const readMs = lastSuccessMs - aheadMs - world.reconcileIntervalMs - 4 * world.intervalMs;
    if (
      value === 0 &&
      !mayBeEmptyThrice(world) &&
      service.served(customer, periodMs, readMs)[truth] > 0
    ) {
      violated(`${series} is shown as 0`);
    }
  }

  /** Where nothing is late and no answer lacks rows, every good poll shows the service's total. */
  #expectExact(
    series: string,
    { customer, periodMs, dayMs }: CustomerScrape,
    truth: CounterName,
    total: number,
    { lastSuccessMs, tookMs }: { readonly lastSuccessMs: number; readonly tookMs: number },
  ): void {
    const { world, service, violated } = this.#options;
    if (!hasExactPolls(world)) {
      return;
    }
    const readMs = lastSuccessMs - lagMs(world, lastSuccessMs - dayMs, tookMs);
    const least = service.served(customer, periodMs, readMs)[truth];
    const most = service.served(customer, periodMs, lastSuccessMs)[truth];
    if (total < least || total > most) {
      violated(`${series} less held is ${total} after a good poll, and not ${least} to ${most}`);
    }
  }

  #expectNoFall(series: string, value: number, held: number, seen: Seen): void {
    const { world, clock, violated, occasion } = this.#options;
    if (value < seen.shown) {
      violated(`${series} falls from ${seen.shown} to ${value}`);
    }
    if (value > seen.most + takenBack(world, seen.most)) {
      violated(`${series} is ${value}, and the service never had more than ${seen.most}`);
    }
    if (!(held >= 0)) {
      violated(`${series} holds ${held}`);
    }
    if (!mayFall(world) && held > 0) {
      violated(`${series} holds ${held}, though the service took nothing back`);
    }
    if (held > 0) {
      occasion('counts were held');
    } else if (seen.held > 0) {
      occasion('counts were held no more');
    }
    if (value !== seen.shown) {
      seen.shownBefore = seen.shown;
      seen.shownSinceMs = clock.nowMs();
    }
    seen.shown = value;
    seen.held = held;
  }

  #rangeOf(
    customer: string,
    periodMs: number,
    kind: CounterName,
    nowMs: number,
    longestMs: number,
  ): readonly [least: number, most: number] {
    const { world, service } = this.#options;
    const stepMs = Math.max(1000, longestMs / 60);
    const totals: number[] = [];
    for (let ms = 0; ms < longestMs + stepMs; ms += stepMs) {
      totals.push(service.served(customer, periodMs, nowMs - Math.min(ms, longestMs))[kind]);
    }
    // A total read at the anchor and what came since are not of one instant: what was taken back in
    // between is in the one, and what came is in the other.
    const { share } = world.conventions.corrections;
    const dayAgo = service.served(customer, periodMs, nowMs - DAY_MS)[kind];
    const changed = (2 * share * (Math.max(...totals) - dayAgo) * longestMs) / DAY_MS;
    const slack = share === 0 ? 0 : 3 + Math.ceil(changed);
    return [Math.min(...totals) - slack, Math.max(...totals) + slack];
  }
}
