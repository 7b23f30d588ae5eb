/** Audits the counters by branch, client and device. */
import type { Breakdown } from '../../src/base/model.ts';
import type { SimulatedService } from '../../src/simulator/service.ts';
import type { AuditContext } from './auditor.ts';
import { removedCounts } from './tolerances.ts';

type Side = 'entered' | 'exited';

interface Counter {
  readonly customer: string;
  readonly breakdown: Breakdown;
  readonly key: string;
  readonly side: Side;
  readonly value: number;
}

const TOTAL =
  /^library_(branch|client|device)_people_(entered|exited)_total\{customer="([^"]*)",\1="([^"]*)"\} (\S+)$/gm;
const EXCESS =
  /^library_(branch|client|device)_counter_excess\{customer="([^"]*)",\1="([^"]*)",counter="people_(entered|exited)"\} (\S+)$/gm;
const MINUTE_MS = 60_000;
/** The ground truth of breakdowns is expensive: one scrape in this many. */
const TRUTH_EVERY = 8;

export class BreakdownAuditor {
  readonly #context: AuditContext;
  /** The last exported value by exporter, period and series. */
  readonly #shown = new Map<string, number>();
  #audits = 0;

  constructor(context: AuditContext) {
    this.#context = context;
  }

  /** High-water marks were lost. */
  forget(exporter: string): void {
    for (const series of this.#shown.keys()) {
      if (series.startsWith(exporter)) {
        this.#shown.delete(series);
      }
    }
  }

  audit(exporter: string, text: string, periodOf: (customer: string) => number): void {
    const { environment, clock, report } = this.#context;
    if (environment.breakdowns.length === 0) {
      return;
    }
    const counters = countersIn(text);
    for (const { customer, breakdown, key, side, value } of counters) {
      const series = `${exporter} ${periodOf(customer)} ${customer} ${breakdown} ${key} ${side}`;
      const before = this.#shown.get(series) ?? 0;
      this.#shown.set(series, value);
      if (value < before) {
        report(`${series} decreases from ${before} to ${value}`);
      }
    }
    this.#audits += 1;
    if (this.#audits % TRUTH_EVERY === 0) {
      this.#expectNoMore(exporter, counters, periodOf, clock.nowMs());
    }
  }

  /** Every counter minus its excess is the service's total. */
  expectTruth(exporter: string, text: string, periodOf: (customer: string) => number): void {
    const { environment, service, clock, report } = this.#context;
    const excess = excessIn(text);
    const counters = countersIn(text);
    const lagMs = environment.breakdownIntervalMs + 10 * environment.maxDelayMs + MINUTE_MS;
    for (const breakdown of environment.breakdowns) {
      for (const { library } of service.customers) {
        const customer = library.name;
        const periodMs = periodOf(customer);
        const early = service.breakdownTotals(customer, breakdown, periodMs, clock.nowMs() - lagMs);
        const late = service.breakdownTotals(customer, breakdown, periodMs, clock.nowMs());
        const own = counters.filter(
          (counter) => counter.customer === customer && counter.breakdown === breakdown,
        );
        for (const [id, totals] of early) {
          for (const side of ['entered', 'exited'] as const) {
            const counter = own.find(({ key, side: its }) => idOf(key) === id && its === side);
            const total = counter && counter.value - (excess.get(nameOf(counter)) ?? NaN);
            const ends = [totals[side], late.get(id)?.[side] ?? 0];
            const slack = removedCounts(environment, Math.max(...ends));
            const [least, most] = [Math.min(...ends) - slack, Math.max(...ends) + slack];
            if (total === undefined || !(total >= least && total <= most)) {
              report(
                `${exporter} ${customer} ${breakdown} ${id} ${side} minus excess is ${total} in the end, ` +
                  `and not ${least} to ${most}`,
              );
            }
          }
        }
      }
    }
  }

  #expectNoMore(
    exporter: string,
    counters: readonly Counter[],
    periodOf: (customer: string) => number,
    nowMs: number,
  ): void {
    const { environment, service, report } = this.#context;
    const truths = new Map<string, ReturnType<SimulatedService['breakdownTotals']>>();
    for (const { customer, breakdown, key, side, value } of counters) {
      const name = `${customer} ${breakdown}`;
      const truth =
        truths.get(name) ?? service.breakdownTotals(customer, breakdown, periodOf(customer), nowMs);
      truths.set(name, truth);
      const most = truth.get(idOf(key))?.[side] ?? 0;
      if (value > most + removedCounts(environment, most)) {
        report(`${exporter} ${name} ${key} ${side} is ${value}, and the service has ${most}`);
      }
    }
  }
}

function countersIn(text: string): readonly Counter[] {
  return Array.from(
    text.matchAll(TOTAL),
    ([, breakdown, side, customer = '', key = '', value]) => ({
      customer,
      breakdown: breakdown as Breakdown,
      key,
      side: side as Side,
      value: Number(value),
    }),
  );
}

function excessIn(text: string): ReadonlyMap<string, number> {
  return new Map(
    Array.from(text.matchAll(EXCESS), ([, breakdown, customer = '', key = '', side, value]) => [
      nameOf({ customer, breakdown: breakdown as Breakdown, key, side: side as Side }),
      Number(value),
    ]),
  );
}

function nameOf({ customer, breakdown, key, side }: Omit<Counter, 'value'>): string {
  return `${customer} ${breakdown} ${key} ${side}`;
}

/** The key is an id, or a name that ends with one. */
function idOf(key: string): number {
  return Number(/\d+$/.exec(key)?.[0]);
}
