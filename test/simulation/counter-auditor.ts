/** Audits the counters of people and logins. */
import type { AuditContext, CustomerScrape } from './auditor.ts';
import {
  isExactAfterPoll,
  lagMs,
  mayDecrease,
  removedCounts,
  SAME_PERIOD_MS,
} from './tolerances.ts';

/** Names of a counter: metric without its ending, label `counter`, ground truth, stream. */
const COUNTERS = [
  ['library_people_entered', 'people_entered', 'entered', 'people'],
  ['library_people_exited', 'people_exited', 'exited', 'people'],
  ['library_logins', 'logins', 'logins', 'logins'],
] as const;
type CounterName = (typeof COUNTERS)[number][2];

const ACCEPTED = 'library_values_accepted_timestamp_seconds';
const DAY_MS = 86_400_000;
const ACCEPTED_AT_ONCE = 1000;
/** A value exported for this long is in the state file. */
const WRITTEN_WITHIN_MS = 11_000;

/** One counter in one period. */
interface Seen {
  /** The last exported value. */
  shown: number;
  shownSinceMs: number;
  /** The value exported before that. */
  shownBefore: number;
  /** The service's highest total at any scrape. */
  most: number;
}

export function createCounterAuditor(context: AuditContext) {
  const { environment, service, clock, configOf, report } = context;
  /** By series and period. */
  const seenOfAll = new Map<string, Seen>();
  /** The newest period of which a series was shown. */
  const newestPeriods = new Map<string, number>();

  /** Forgets what a killed exporter had not written: only high-water marks on the disk count. */
  function killed(exporter: string, isWhole: boolean): void {
    const writtenMs = clock.nowMs() - WRITTEN_WITHIN_MS;
    for (const [series, seen] of seenOfAll) {
      if (series.startsWith(exporter)) {
        const written = seen.shownSinceMs <= writtenMs ? seen.shown : seen.shownBefore;
        seenOfAll.set(series, { ...seen, shown: isWhole ? written : 0 });
      }
    }
    for (const series of newestPeriods.keys()) {
      if (series.startsWith(exporter) && !isWhole) {
        newestPeriods.delete(series);
      }
    }
  }

  function audit(of: CustomerScrape): void {
    const { exporter, customer, scrape, periodMs, dayMs } = of;
    const served = service.served(customer, periodMs);
    const sinceDay = service.served(customer, dayMs);
    for (const [name] of COUNTERS.filter((one) => !countersOf(customer).includes(one))) {
      if (scrape.value(`${name}_total`, customer) !== undefined) {
        report(`${exporter} ${name} ${customer} is shown, and not polled`);
      }
    }
    for (const [name, kind, key, stream] of countersOf(customer)) {
      const series = `${exporter} ${name} ${customer}`;
      const today = scrape.value(`${name}_today`, customer) ?? 0;
      if (today > sinceDay[key] + removedCounts(environment, sinceDay[key])) {
        report(`${series} today is ${today}, and the service has ${sinceDay[key]}`);
      }
      const seen = seenOf(series, periodMs);
      seen.most = Math.max(seen.most, served[key]);
      const value = scrape.value(`${name}_total`, customer);
      if (value === undefined) {
        continue;
      }
      const newestMs = newestPeriods.get(series) ?? periodMs;
      newestPeriods.set(series, Math.max(newestMs, periodMs));
      if (newestMs - periodMs > SAME_PERIOD_MS) {
        report(`${series} is shown of the period ${periodMs} after that of ${newestMs}`);
      }
      const poll = of.lastPoll(stream);
      if (poll === undefined) {
        report(`${series} is shown before the first good poll`);
        continue;
      }
      if (scrape.value(ACCEPTED, customer, stream) === undefined) {
        report(`${series} is shown before values were accepted`);
      }
      const excess = scrape.value('library_count_excess', customer, kind) ?? NaN;
      if (isExactAfterPoll(environment)) {
        expectExact(series, of, key, value - excess, poll);
      }
      expectNoDecrease(series, value, excess, seen);
    }
  }

  /** Every counter minus its excess is a total that the service had between the last baseline and now. */
  function expectTotals(of: CustomerScrape): void {
    const { exporter, customer, scrape, periodMs, dayMs } = of;
    for (const [name, kind, key, stream] of countersOf(customer)) {
      const series = `${exporter} ${name} ${customer}`;
      const poll = of.lastPoll(stream);
      if (scrape.value('library_up', customer, stream) !== 1 || poll === undefined) {
        report(`${exporter} library_up ${customer} ${stream} is not 1 in the end`);
        continue;
      }
      const value = scrape.value(`${name}_total`, customer);
      const excess = scrape.value('library_count_excess', customer, kind);
      const total = (value ?? NaN) - (excess ?? NaN);
      const longestMs = lagMs(environment, poll.endMs - dayMs, poll.tookMs);
      const [least, most] = rangeOf(customer, periodMs, key, poll.endMs, longestMs);
      // A first total of 0, or a very large one, must be confirmed.
      const isNew = clock.nowMs() - periodMs < 5 * environment.intervalMs;
      const isPending = least <= 0 || most > ACCEPTED_AT_ONCE;
      const mayBeAbsent = value === undefined && isNew && isPending;
      if (!(total >= least && total <= most) && !mayBeAbsent) {
        report(`${series} minus excess is ${total} in the end, and not ${least} to ${most}`);
      }
      const acceptedMs = 1000 * (scrape.value(ACCEPTED, customer, stream) ?? NaN);
      // A lower total waits for two polls more.
      const waitsMs = mayDecrease(environment) ? 3 * environment.intervalMs : 0;
      const isAccepted = acceptedMs <= poll.endMs && acceptedMs >= poll.endMs - waitsMs;
      if (!isAccepted && !(isNew && isPending)) {
        report(`${series} was accepted at ${acceptedMs} in the end, and polled at ${poll.endMs}`);
      }
    }
  }

  /** The counters of the streams that are polled of a customer. */
  function countersOf(customer: string): readonly (typeof COUNTERS)[number][] {
    const { streams } = configOf(customer);
    return COUNTERS.filter(([, , , stream]) => streams.includes(stream));
  }

  function seenOf(series: string, periodMs: number): Seen {
    const key = `${series} ${periodMs}`;
    const known = seenOfAll.get(key);
    if (known !== undefined) {
      return known;
    }
    const seen = { shown: 0, shownSinceMs: 0, shownBefore: 0, most: 0 };
    seenOfAll.set(key, seen);
    return seen;
  }

  /** Every successful poll shows the service's total, where nothing is late and no response lacks rows. */
  function expectExact(
    series: string,
    { customer, periodMs, dayMs }: CustomerScrape,
    key: CounterName,
    total: number,
    { endMs, tookMs }: { readonly endMs: number; readonly tookMs: number },
  ): void {
    const readMs = endMs - lagMs(environment, endMs - dayMs, tookMs);
    const least = service.served(customer, periodMs, readMs)[key];
    const most = service.served(customer, periodMs, endMs)[key];
    if (total < least || total > most) {
      report(`${series} minus excess is ${total} after a good poll, and not ${least} to ${most}`);
    }
  }

  function expectNoDecrease(series: string, value: number, excess: number, seen: Seen): void {
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

  function rangeOf(
    customer: string,
    periodMs: number,
    kind: CounterName,
    nowMs: number,
    longestMs: number,
  ): readonly [least: number, most: number] {
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

  return { killed, audit, expectTotals };
}
