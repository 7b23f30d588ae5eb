/** Audits the counters of people and logins. */
import { DAY_MS } from '../../src/base/duration.ts';
import type { AuditContext, CustomerScrape } from './auditor.ts';
import { isExactAfterPoll, lagMs, mayDecrease } from './tolerances.ts';

/** Names of a counter: metric without its ending, label `counter`, ground truth, stream. */
const COUNTERS = [
  ['library_people_entered', 'people_entered', 'entered', 'people'],
  ['library_people_exited', 'people_exited', 'exited', 'people'],
  ['library_logins', 'logins', 'logins', 'logins'],
] as const;
type CounterName = (typeof COUNTERS)[number][2];

const ACCEPTED = 'library_values_accepted_timestamp_seconds';
const ACCEPTED_AT_ONCE = 1000;

export function createCounterAuditor(context: AuditContext) {
  const { environment, service, clock, configOf, report, expectBetween, expectNoDecrease } =
    context;
  /** The service's highest total at any scrape, by series and period. */
  const highest = new Map<string, number>();

  function audit(of: CustomerScrape): void {
    const { exporter, customer, scrape, periodMs, dayMs } = of;
    const served = service.served(customer, periodMs);
    const sinceDay = service.served(customer, dayMs);
    for (const [name, kind, key, stream] of COUNTERS) {
      const series = `${exporter} ${name} ${customer}`;
      const today = scrape.value(`${name}_today`, customer) ?? 0;
      expectBetween(`${series} today`, today, [0, sinceDay[key]]);
      const most = Math.max(highest.get(`${series} ${periodMs}`) ?? 0, served[key]);
      highest.set(`${series} ${periodMs}`, most);
      const value = scrape.value(`${name}_total`, customer);
      if (value === undefined) {
        continue;
      }
      const poll = of.lastPoll(stream);
      const isAccepted = scrape.value(ACCEPTED, customer, stream) !== undefined;
      if (poll === undefined || !isAccepted || !isPolled(customer, stream)) {
        report(`${series} is shown before values were accepted, or is not polled`);
        continue;
      }
      const excess = scrape.value('library_count_excess', customer, kind) ?? NaN;
      if (isExactAfterPoll(environment)) {
        const readMs = poll.endMs - lagMs(environment, poll.endMs - dayMs, poll.tookMs);
        const ends = [readMs, poll.endMs].map((ms) => service.served(customer, periodMs, ms)[key]);
        expectBetween(`${series} minus excess after a good poll`, value - excess, ends);
      }
      expectNoDecrease(series, periodMs, value);
      expectBetween(series, value, [0, most]);
      if (!(excess >= 0) || (excess > 0 && !mayDecrease(environment))) {
        report(`${series} has an excess of ${excess}`);
      }
    }
  }

  /** Every counter minus its excess is a total that the service had between the last baseline and now. */
  function expectTotals(of: CustomerScrape): void {
    const { exporter, customer, scrape, periodMs, dayMs } = of;
    for (const [name, kind, key, stream] of COUNTERS.filter((one) => isPolled(customer, one[3]))) {
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
      const isPending = isNew && (least <= 0 || most > ACCEPTED_AT_ONCE);
      if (!(total >= least && total <= most) && !(value === undefined && isPending)) {
        report(`${series} minus excess is ${total} in the end, and not ${least} to ${most}`);
      }
      const acceptedMs = 1000 * (scrape.value(ACCEPTED, customer, stream) ?? NaN);
      // A lower total waits for two polls more.
      const waitsMs = mayDecrease(environment) ? 3 * environment.intervalMs : 0;
      const isAccepted = acceptedMs <= poll.endMs && acceptedMs >= poll.endMs - waitsMs;
      if (!isAccepted && !isPending) {
        report(`${series} was accepted at ${acceptedMs} in the end, and polled at ${poll.endMs}`);
      }
    }
  }

  function isPolled(customer: string, stream: 'people' | 'logins'): boolean {
    return configOf(customer).streams.includes(stream);
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

  return { audit, expectTotals };
}
