/**
 * Audits every scrape and the log against the ground truth, without knowledge of the exporter's
 * internals. This auditor checks calendar and secrets, and runs the others.
 */
import type { CustomerConfig } from '../../src/config/types.ts';
import type { Stream } from '../../src/base/model.ts';
import type { SimulatedService } from '../../src/simulator/simulated-service.ts';
import { dayStart, periodStart } from '../acceptance/local-time.ts';
import { createBranchAuditor } from './branch-auditor.ts';
import { createBreakdownAuditor } from './breakdown-auditor.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';
import { createCounterAuditor } from './counter-auditor.ts';
import type { Environment } from './environment.ts';
import { createEstimateAuditor } from './estimate-auditor.ts';
import { DAY_STARTS_AT, mayOccur, mayLackRows } from './tolerances.ts';
import { createOccupancyAuditor } from './occupancy-auditor.ts';
import { Scrape } from './scrape.ts';

/** What all auditors are given. */
export interface AuditContext {
  readonly environment: Environment;
  readonly service: SimulatedService;
  readonly clock: VirtualClock;
  /** What the configuration says of the branches of a customer, by their key. */
  readonly branchesOf: (customer: string) => CustomerConfig['branches'];
  readonly report: (what: string) => void;
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
  /** The last successful poll: its values may be of any instant in it. */
  lastPoll(stream: Stream): { readonly endMs: number; readonly tookMs: number } | undefined;
}

const MAX_VIOLATIONS = 20;
/** The ground truth of occupancy and breakdowns is expensive: one scrape in this many. */
const THOROUGH_EVERY = 8;
const BRANCHES_EVERY = 3;

export type Auditor = ReturnType<typeof createAuditor>;

export function createAuditor(
  environment: Environment,
  service: SimulatedService,
  clock: VirtualClock,
  branchesOf: AuditContext['branchesOf'],
) {
  const violations: string[] = [];
  const context: AuditContext = { environment, service, clock, branchesOf, report };
  const counters = createCounterAuditor(context);
  const occupancy = createOccupancyAuditor(context);
  const estimates = createEstimateAuditor(context);
  const breakdowns = createBreakdownAuditor(context);
  const branches = createBranchAuditor(context);
  const secret = new RegExp(`secret-of-${environment.seed}|simulated\\.[0-9a-f]{8}|Bearer `);
  const mayStep = mayOccur(environment, 'clock steps');
  /** Last text by exporter; one that has not changed is not audited again on the same day. */
  const lastTexts = new Map<string, string>();
  /** The longest of the successful polls that ended in a millisecond. */
  const pollsMs = new Map<string, number>();
  let audits = 0;

  function report(what: string): void {
    if (violations.length < MAX_VIOLATIONS) {
      violations.push(`${new Date(clock.nowMs()).toISOString()} ${what}`);
    }
  }

  function expectNoSecret(text: string): void {
    if (secret.test(text)) {
      report('a secret or a token was shown');
    }
  }

  function killed(exporter: string, disk: 'whole' | 'torn' | 'lost'): void {
    counters.killed(exporter, disk === 'whole');
    if (disk !== 'whole' || environment.conventions.corrections.share > 0) {
      breakdowns.forget(exporter);
    }
  }

  /** A successful poll ended at `endMs` by the exporter's clock. */
  function pollEnded(exporter: string, stream: Stream, endMs: number, tookMs: number): void {
    const poll = `${exporter} ${stream} ${Math.round(endMs)}`;
    pollsMs.set(poll, Math.max(tookMs, pollsMs.get(poll) ?? 0));
  }

  /** Checks what must hold at every moment. */
  function audit(exporter: string, text: string | undefined, aheadMs: number): void {
    const dayMs = dayStart(clock.nowMs() + aheadMs, environment.timezone, DAY_STARTS_AT);
    if (text === undefined || lastTexts.get(exporter) === `${dayMs} ${text}`) {
      return;
    }
    lastTexts.set(exporter, `${dayMs} ${text}`);
    expectNoSecret(text);
    audits += 1;
    const isThorough = audits % THOROUGH_EVERY === 0;
    for (const of of customersOf(exporter, text, dayMs, aheadMs)) {
      auditCalendar(of);
      counters.audit(of);
      breakdowns.audit(of, isThorough);
      estimates.audit(of);
      const inside = of.scrape.value('library_occupancy_people', of.customer);
      if (inside !== undefined && inside < 0) {
        report(`${exporter} shows an occupancy of ${inside}`);
      }
      if (isThorough && !mayLackRows(environment) && !mayStep) {
        occupancy.audit(of, false);
      }
      if (audits % BRANCHES_EVERY === 0) {
        branches.audit(of, false);
      }
    }
  }

  /** Checks what must hold after a reconcile interval without faults. */
  function expectTotals(exporter: string, text = ''): void {
    const dayMs = dayStart(clock.nowMs(), environment.timezone, DAY_STARTS_AT);
    for (const of of customersOf(exporter, text, dayMs, 0)) {
      counters.expectTotals(of);
      breakdowns.expectTotals(of);
      occupancy.audit(of, true);
      branches.audit(of, true);
    }
  }

  function customersOf(
    exporter: string,
    text: string,
    dayMs: number,
    aheadMs: number,
  ): readonly CustomerScrape[] {
    const scrape = new Scrape(text);
    return service.customers.map(({ library: { name: customer } }) => {
      const startName = 'library_period_start_timestamp_seconds';
      const periodMs = 1000 * (scrape.value(startName, customer) ?? NaN);
      return { exporter, customer, scrape, periodMs, dayMs, aheadMs, lastPoll };

      function lastPoll(stream: Stream): ReturnType<CustomerScrape['lastPoll']> {
        const endName = 'library_poll_last_success_timestamp_seconds';
        const endMs = 1000 * (scrape.value(endName, customer, stream) ?? NaN);
        const tookMs = pollsMs.get(`${exporter} ${stream} ${Math.round(endMs)}`);
        if (tookMs === undefined && !Number.isNaN(endMs)) {
          throw new Error(`no poll of ${exporter} ${stream} ended at ${endMs}`);
        }
        return tookMs === undefined ? undefined : { endMs, tookMs };
      }
    });
  }

  /** The counting period is that of the month. */
  function auditCalendar({ exporter, customer, periodMs, aheadMs }: CustomerScrape): void {
    const nowMs = clock.nowMs() + aheadMs;
    const runningMs = periodStart(nowMs, environment.timezone, DAY_STARTS_AT);
    // A clock that steps back over the start of a period stays in it.
    if (periodMs !== runningMs && !mayStep) {
      report(
        `${exporter} counts ${customer} from ${periodMs}, and the period started at ${runningMs}`,
      );
    }
  }

  return { violations, report, expectNoSecret, killed, pollEnded, audit, expectTotals };
}
