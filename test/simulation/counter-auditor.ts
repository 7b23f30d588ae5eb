/** Audits the counters of people and logins. */
import type { AuditContext } from './auditor.ts';
import { isExactAfterPoll, lagMs, mayDecrease, removedCounts } from './tolerances.ts';
import type { Scrape } from './scrape.ts';

/** Names of a counter: metric without its ending, label `counter`, ground truth, stream. */
const COUNTERS = [
  ['library_people_entered', 'people_entered', 'entered', 'people'],
  ['library_people_exited', 'people_exited', 'exited', 'people'],
  ['library_logins', 'logins', 'logins', 'logins'],
] as const;
type CounterName = (typeof COUNTERS)[number][2];

const LAST_SUCCESS = 'library_poll_last_success_timestamp_seconds';
const DAY_MS = 86_400_000;
const ACCEPTED_AT_ONCE = 1000;
/** A value exported for this long is in the state file. */
const WRITTEN_WITHIN_MS = 11_000;

/** One counter in one period. */
interface Seen {
  readonly periodMs: number;
  /** The last exported value. */
  shown: number;
  shownSinceMs: number;
  /** The value exported before that. */
  shownBefore: number;
  /** The service's highest total at any scrape. */
  most: number;
}

/** One customer in one scrape. */
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
  readonly #context: AuditContext;
  readonly #seen = new Map<string, Seen>();

  constructor(context: AuditContext) {
    this.#context = context;
  }

  /** After a kill only high-water marks on the disk count. */
  killed(exporter: string, isWhole: boolean): void {
    const writtenMs = this.#context.clock.nowMs() - WRITTEN_WITHIN_MS;
    for (const [series, seen] of this.#seen) {
      if (series.startsWith(exporter)) {
        const written = seen.shownSinceMs <= writtenMs ? seen.shown : seen.shownBefore;
        this.#seen.set(series, { ...seen, shown: isWhole ? written : 0 });
      }
    }
  }

  audit(of: CustomerScrape): void {
    const { exporter, customer, scrape, periodMs, dayMs } = of;
    const { environment, service, polls, report } = this.#context;
    const served = service.served(customer, periodMs);
    const sinceDay = service.served(customer, dayMs);
    for (const [name, kind, truth, stream] of COUNTERS) {
      const series = `${exporter} ${name} ${customer}`;
      const today = scrape.value(`${name}_today`, customer) ?? 0;
      if (today > sinceDay[truth] + removedCounts(environment, sinceDay[truth])) {
        report(`${series} today is ${today}, and the service has ${sinceDay[truth]}`);
      }
      const seen = this.#seenOf(series, periodMs);
      seen.most = Math.max(seen.most, served[truth]);
      const value = scrape.value(`${name}_total`, customer);
      if (value === undefined) {
        continue;
      }
      const lastSuccessMs = 1000 * (scrape.value(LAST_SUCCESS, customer, stream) ?? NaN);
      if (Number.isNaN(lastSuccessMs)) {
        report(`${series} is shown before the first good poll`);
        continue;
      }
      const excess = scrape.value('library_counter_excess', customer, kind) ?? NaN;
      const tookMs = polls.tookMs(exporter, stream, lastSuccessMs);
      this.#expectExact(series, of, truth, value - excess, { lastSuccessMs, tookMs });
      this.#expectNoDecrease(series, value, excess, seen);
    }
  }

  /** Every counter minus its excess is a total that the service had between the last baseline and now. */
  expectTruth({ exporter, customer, scrape, periodMs, dayMs }: CustomerScrape): void {
    const { environment, clock, polls, report } = this.#context;
    for (const [name, kind, truth, stream] of COUNTERS) {
      const series = `${exporter} ${name} ${customer}`;
      if (scrape.value('library_up', customer, stream) !== 1) {
        report(`${exporter} library_up ${customer} ${stream} is not 1 in the end`);
        continue;
      }
      const value = scrape.value(`${name}_total`, customer);
      const excess = scrape.value('library_counter_excess', customer, kind);
      const total = (value ?? NaN) - (excess ?? NaN);
      const lastSuccessMs = 1000 * (scrape.value(LAST_SUCCESS, customer, stream) ?? NaN);
      const tookMs = polls.tookMs(exporter, stream, lastSuccessMs);
      const longestMs = lagMs(environment, lastSuccessMs - dayMs, tookMs);
      const [least, most] = this.#rangeOf(customer, periodMs, truth, lastSuccessMs, longestMs);
      // A first total of 0, or a very large one, must be confirmed.
      const isNew = clock.nowMs() - periodMs < 5 * environment.intervalMs;
      const isDoubted = least <= 0 || most > ACCEPTED_AT_ONCE;
      const mayBeAbsent = value === undefined && isNew && isDoubted;
      if (!(total >= least && total <= most) && !mayBeAbsent) {
        report(`${series} minus excess is ${total} in the end, and not ${least} to ${most}`);
      }
    }
  }

  #seenOf(series: string, periodMs: number): Seen {
    const known = this.#seen.get(series);
    if (known?.periodMs === periodMs) {
      return known;
    }
    const seen = { periodMs, shown: 0, shownSinceMs: 0, shownBefore: 0, most: 0 };
    this.#seen.set(series, seen);
    return seen;
  }

  /** Every successful poll shows the service's total, where nothing is late and no answer lacks rows. */
  #expectExact(
    series: string,
    { customer, periodMs, dayMs }: CustomerScrape,
    truth: CounterName,
    total: number,
    { lastSuccessMs, tookMs }: { readonly lastSuccessMs: number; readonly tookMs: number },
  ): void {
    const { environment, service, report } = this.#context;
    if (!isExactAfterPoll(environment)) {
      return;
    }
    const readMs = lastSuccessMs - lagMs(environment, lastSuccessMs - dayMs, tookMs);
    const least = service.served(customer, periodMs, readMs)[truth];
    const most = service.served(customer, periodMs, lastSuccessMs)[truth];
    if (total < least || total > most) {
      report(`${series} minus excess is ${total} after a good poll, and not ${least} to ${most}`);
    }
  }

  #expectNoDecrease(series: string, value: number, excess: number, seen: Seen): void {
    const { environment, clock, report } = this.#context;
    if (value < seen.shown) {
      report(`${series} decreases from ${seen.shown} to ${value}`);
    }
    if (value > seen.most + removedCounts(environment, seen.most)) {
      report(`${series} is ${value}, and the service never had more than ${seen.most}`);
    }
    if (!(excess >= 0)) {
      report(`${series} has an excess of ${excess}`);
    }
    if (!mayDecrease(environment) && excess > 0) {
      report(`${series} has an excess of ${excess}, though the service removed nothing`);
    }
    if (value !== seen.shown) {
      seen.shownBefore = seen.shown;
      seen.shownSinceMs = clock.nowMs();
    }
    seen.shown = value;
  }

  #rangeOf(
    customer: string,
    periodMs: number,
    kind: CounterName,
    nowMs: number,
    longestMs: number,
  ): readonly [least: number, most: number] {
    const { environment, service } = this.#context;
    const stepMs = Math.max(1000, longestMs / 60);
    const totals: number[] = [];
    for (let ms = 0; ms < longestMs + stepMs; ms += stepMs) {
      totals.push(service.served(customer, periodMs, nowMs - Math.min(ms, longestMs))[kind]);
    }
    // The baseline and what came since are of different instants, between which records were removed.
    const { share } = environment.conventions.corrections;
    const dayAgo = service.served(customer, periodMs, nowMs - DAY_MS)[kind];
    const changed = (2 * share * (Math.max(...totals) - dayAgo) * longestMs) / DAY_MS;
    const slack = share === 0 ? 0 : 3 + Math.ceil(changed);
    return [Math.min(...totals) - slack, Math.max(...totals) + slack];
  }
}
