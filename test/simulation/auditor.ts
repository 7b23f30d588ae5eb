/**
 * Audits every scrape and the log against the ground truth, without knowledge of the exporter's
 * internals. This auditor checks calendar and secrets, and runs the others.
 */
import type { SimulatedService } from '../../src/simulator/service.ts';
import { dayStart, periodStart } from '../acceptance/local-time.ts';
import { BreakdownAuditor } from './breakdown-auditor.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';
import { CounterAuditor } from './counter-auditor.ts';
import type { CustomerScrape } from './counter-auditor.ts';
import type { Environment } from './environment.ts';
import { EstimateAuditor } from './estimate-auditor.ts';
import { DAY_STARTS_AT, mayOccur, mayLackRows } from './tolerances.ts';
import { OccupancyAuditor } from './occupancy-auditor.ts';
import { PollTimes } from './poll-times.ts';
import { Scrape } from './scrape.ts';

/** What all auditors are given. */
export interface AuditContext {
  readonly environment: Environment;
  readonly service: SimulatedService;
  readonly clock: VirtualClock;
  readonly polls: PollTimes;
  readonly report: (what: string) => void;
}

const MAX_VIOLATIONS = 20;
/** The ground truth of occupancy and breakdowns is expensive: one scrape in this many. */
const THOROUGH_EVERY = 8;

export class Auditor {
  readonly violations: string[] = [];
  readonly polls = new PollTimes();
  readonly #environment: Environment;
  readonly #service: SimulatedService;
  readonly #clock: VirtualClock;
  /** By exporter; a text that has not changed is not audited again on the same day. */
  readonly #lastTexts = new Map<string, string>();
  readonly #counters: CounterAuditor;
  readonly #occupancy: OccupancyAuditor;
  readonly #estimates: EstimateAuditor;
  readonly #breakdowns: BreakdownAuditor;
  readonly #secret: RegExp;
  #audits = 0;

  constructor(environment: Environment, service: SimulatedService, clock: VirtualClock) {
    this.#environment = environment;
    this.#service = service;
    this.#clock = clock;
    const context: AuditContext = {
      environment,
      service,
      clock,
      polls: this.polls,
      report: (what) => this.report(what),
    };
    this.#counters = new CounterAuditor(context);
    this.#occupancy = new OccupancyAuditor(context);
    this.#estimates = new EstimateAuditor(context);
    this.#breakdowns = new BreakdownAuditor(context);
    this.#secret = new RegExp(`secret-of-${environment.seed}|simulated\\.[0-9a-f]{8}|Bearer `);
  }

  report(what: string): void {
    if (this.violations.length < MAX_VIOLATIONS) {
      this.violations.push(`${new Date(this.#clock.nowMs()).toISOString()} ${what}`);
    }
  }

  expectNoSecret(text: string): void {
    if (this.#secret.test(text)) {
      this.report('a secret or a token was shown');
    }
  }

  killed(exporter: string, disk: 'whole' | 'torn' | 'lost'): void {
    this.#counters.killed(exporter, disk === 'whole');
    if (disk !== 'whole' || this.#environment.conventions.corrections.share > 0) {
      this.#breakdowns.forget(exporter);
    }
  }

  /** Checks what must hold at every moment. */
  audit(exporter: string, text: string | undefined, aheadMs: number): void {
    const dayMs = dayStart(
      this.#clock.nowMs() + aheadMs,
      this.#environment.timezone,
      DAY_STARTS_AT,
    );
    if (text === undefined || this.#lastTexts.get(exporter) === `${dayMs} ${text}`) {
      return;
    }
    this.#lastTexts.set(exporter, `${dayMs} ${text}`);
    this.expectNoSecret(text);
    this.#audits += 1;
    const scrape = new Scrape(text);
    const isThorough = this.#audits % THOROUGH_EVERY === 0;
    for (const of of this.#customersOf(exporter, scrape, aheadMs)) {
      this.#auditCalendar(of);
      this.#counters.audit(of);
      this.#breakdowns.audit(of, isThorough);
      this.#estimates.audit(of);
      const { customer } = of;
      const inside = scrape.value('library_occupancy_people', customer);
      if (inside !== undefined && inside < 0) {
        this.report(`${exporter} shows an occupancy of ${inside}`);
      }
      if (isThorough && !mayLackRows(this.#environment) && !this.#mayStep()) {
        this.#occupancy.audit(exporter, customer, scrape, false);
      }
    }
  }

  /** Checks what must hold after a reconcile interval without faults. */
  expectTruth(exporter: string, text = ''): void {
    const scrape = new Scrape(text);
    for (const of of this.#customersOf(exporter, scrape, 0)) {
      this.#counters.expectTruth(of);
      this.#breakdowns.expectTruth(of);
      this.#occupancy.audit(exporter, of.customer, scrape, true);
    }
  }

  #customersOf(exporter: string, scrape: Scrape, aheadMs: number): readonly CustomerScrape[] {
    const dayMs = dayStart(
      this.#clock.nowMs() + aheadMs,
      this.#environment.timezone,
      DAY_STARTS_AT,
    );
    return this.#service.customers.map(({ library: { name: customer } }) => {
      const startName = 'library_counter_start_timestamp_seconds';
      const periodMs = 1000 * (scrape.value(startName, customer) ?? NaN);
      return { exporter, customer, scrape, periodMs, dayMs, aheadMs };
    });
  }

  #mayStep(): boolean {
    return mayOccur(this.#environment, 'clock steps');
  }

  /** The counting period is that of the month. */
  #auditCalendar({ exporter, customer, periodMs, aheadMs }: CustomerScrape): void {
    const runningMs = periodStart(
      this.#clock.nowMs() + aheadMs,
      this.#environment.timezone,
      DAY_STARTS_AT,
    );
    // A clock that steps back over the start of a period stays in it.
    if (periodMs !== runningMs && !this.#mayStep()) {
      this.report(
        `${exporter} counts ${customer} from ${periodMs}, and the period started at ${runningMs}`,
      );
    }
  }
}
