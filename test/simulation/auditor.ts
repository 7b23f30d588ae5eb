/**
 * What must never happen, and what must be so in the end. The auditors know the truth and see what
 * leaves the exporter, and nothing of how that came about. This one sees to calendar and secrets, and
 * asks the others.
 */
import type { SimulatedService } from '../../src/simulator/service.ts';
import { BreakdownAuditor } from './breakdown-auditor.ts';
import type { WorldClock } from './clock.ts';
import { CounterAuditor } from './counter-auditor.ts';
import type { CustomerScrape } from './counter-auditor.ts';
import type { Occasion } from './coverage.ts';
import type { DrawnWorld } from './drawn-world.ts';
import { mayBefall, mayLackRows } from './excuses.ts';
import { OccupancyAuditor } from './occupancy-auditor.ts';
import { PollTimes } from './poll-times.ts';
import { Scrape } from './scrape.ts';
import { dayStart, periodStart } from './wall.ts';

const VIOLATIONS_KEPT = 20;
/** The path over a day's rows costs more than all the rest. */
const OCCUPANCY_EVERY = 8;

export class Auditor {
  readonly violations: string[] = [];
  readonly occasions = new Set<Occasion>();
  readonly polls = new PollTimes();
  readonly #world: DrawnWorld;
  readonly #service: SimulatedService;
  readonly #clock: WorldClock;
  /** By exporter: what is shown again need not be judged again. */
  readonly #lastTexts = new Map<string, string>();
  readonly #periods = new Map<string, { readonly periodMs: number; readonly dayMs: number }>();
  readonly #counters: CounterAuditor;
  readonly #occupancy: OccupancyAuditor;
  readonly #breakdowns: BreakdownAuditor;
  readonly #secret: RegExp;
  #audits = 0;

  constructor(world: DrawnWorld, service: SimulatedService, clock: WorldClock) {
    this.#world = world;
    this.#service = service;
    this.#clock = clock;
    const violated = (what: string): void => this.violated(what);
    const occasion = (what: Occasion): unknown => this.occasions.add(what);
    const { polls } = this;
    this.#counters = new CounterAuditor({ world, service, clock, polls, violated, occasion });
    this.#occupancy = new OccupancyAuditor({ world, service, clock, polls, violated });
    this.#breakdowns = new BreakdownAuditor({ world, service, clock, violated });
    this.#secret = new RegExp(`secret-of-${world.seed}|simulated\\.[0-9a-f]{8}|Bearer `);
  }

  violated(what: string): void {
    if (this.violations.length < VIOLATIONS_KEPT) {
      this.violations.push(`${new Date(this.#clock.nowMs()).toISOString()} ${what}`);
    }
  }

  expectNoSecret(text: string): void {
    if (this.#secret.test(text)) {
      this.violated('a secret or a token was shown');
    }
  }

  killed(exporter: string, disk: 'whole' | 'torn' | 'lost'): void {
    this.#counters.killed(exporter, disk === 'whole');
    if (disk !== 'whole' || this.#world.conventions.corrections.share > 0) {
      this.#breakdowns.forget(exporter);
    }
  }

  /** Holds one scrape against the promises that hold at every moment. */
  audit(exporter: string, text: string | undefined, aheadMs: number): void {
    if (text === undefined || text === this.#lastTexts.get(exporter)) {
      return;
    }
    this.#lastTexts.set(exporter, text);
    this.expectNoSecret(text);
    this.#audits += 1;
    const scrape = new Scrape(text);
    this.#breakdowns.audit(exporter, text, (customer) => periodIn(scrape, customer));
    for (const of of this.#customersOf(exporter, scrape, aheadMs)) {
      this.#auditCalendar(of);
      this.#counters.audit(of);
      const { customer } = of;
      const inside = scrape.value('library_occupancy_people', customer);
      if (inside !== undefined && inside < 0) {
        this.violated(`${exporter} shows an occupancy of ${inside}`);
      }
      if (this.#audits % OCCUPANCY_EVERY === 0 && !mayLackRows(this.#world) && !this.#mayStep()) {
        this.#occupancy.audit(exporter, customer, scrape, false);
      }
    }
  }

  /** The service has been well for a reconcile interval. */
  expectTruth(exporter: string, text = ''): void {
    const scrape = new Scrape(text);
    this.#breakdowns.expectTruth(exporter, text, (customer) => periodIn(scrape, customer));
    for (const of of this.#customersOf(exporter, scrape, 0)) {
      this.#counters.expectTruth(of);
      this.#occupancy.audit(exporter, of.customer, scrape, true);
    }
  }

  /** What Prometheus makes of all scrapes is what arrived. */
  expectIncreases(): void {
    this.#counters.increases.findings().forEach((finding) => this.violated(finding));
  }

  #customersOf(exporter: string, scrape: Scrape, aheadMs: number): readonly CustomerScrape[] {
    const dayMs = dayStart(this.#clock.nowMs() + aheadMs, this.#world.timezone);
    return this.#service.customers.map(({ library: { name: customer } }) => {
      const periodMs = periodIn(scrape, customer);
      return { exporter, customer, scrape, periodMs, dayMs, aheadMs };
    });
  }

  #mayStep(): boolean {
    return mayBefall(this.#world, 'clock steps');
  }

  /** The epoch shown is the running month's. */
  #auditCalendar({ exporter, customer, scrape, periodMs, dayMs, aheadMs }: CustomerScrape): void {
    const runningMs = periodStart(this.#clock.nowMs() + aheadMs, this.#world.timezone);
    // A clock that steps back over the start of an epoch stays in it.
    if (periodMs !== runningMs && !this.#mayStep()) {
      this.violated(
        `${exporter} counts ${customer} from ${periodMs}, and the epoch began at ${runningMs}`,
      );
    }
    const whose = `${exporter} ${customer}`;
    const before = this.#periods.get(whose);
    this.#periods.set(whose, { periodMs, dayMs });
    const isUp = scrape.value('library_up', customer, 'people') === 1;
    if (before !== undefined && before.dayMs !== dayMs) {
      this.occasions.add(isUp ? 'the day changed' : 'the day changed while polls failed');
    }
    if (before !== undefined && before.periodMs !== periodMs) {
      this.occasions.add(isUp ? 'the epoch changed' : 'the epoch changed while polls failed');
    }
  }
}

function periodIn(scrape: Scrape, customer: string): number {
  return 1000 * (scrape.value('library_counter_start_timestamp_seconds', customer) ?? NaN);
}
