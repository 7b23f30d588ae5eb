/**
 * Audits every scrape and the log against the ground truth, without knowledge of the exporter's
 * internals. This auditor checks calendar and secrets, and runs the others.
 */
import { DAY_MS, MINUTE_MS } from '../../src/base/duration.ts';
import type { CustomerConfig } from '../../src/config/types.ts';
import type { Stream } from '../../src/base/model.ts';
import type { SimulatedService } from '../../src/simulator/simulated-service.ts';
import { openInterval } from '../../src/simulator/libraries.ts';
import { weekdayOf } from '../../src/simulator/zone.ts';
import { dayStart, periodStart, wallMs } from '../acceptance/local-time.ts';
import { createBranchAuditor } from './branch-auditor.ts';
import { createBreakdownAuditor } from './breakdown-auditor.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';
import { createCounterAuditor } from './counter-auditor.ts';
import { createDecreaseAuditor } from './decrease-auditor.ts';
import type { Environment } from './environment.ts';
import { createEstimateAuditor } from './estimate-auditor.ts';
import { HOLIDAYS } from './holidays.ts';
import {
  DAY_STARTS_AT,
  mayLackRows,
  mayOccur,
  removedCounts,
  SAME_PERIOD_MS,
} from './tolerances.ts';
import { createOccupancyAuditor } from './occupancy-auditor.ts';
import { createProblemAuditor } from './problem-auditor.ts';
import { Scrape } from './scrape.ts';

/** What all auditors are given. */
export interface AuditContext {
  readonly environment: Environment;
  readonly service: SimulatedService;
  readonly clock: VirtualClock;
  /** The configuration of a customer. */
  readonly configOf: (customer: string) => CustomerConfig;
  readonly report: (what: string) => void;
  /** Reports a value that is not between two that the service had, but for what corrections may have removed since. */
  readonly expectBetween: (what: string, value: number, served: readonly number[]) => void;
  readonly expectNoDecrease: (series: string, periodMs: number, value: number) => void;
}

/** One customer in one scrape. */
export interface CustomerScrape {
  readonly exporter: string;
  readonly customer: string;
  readonly scrape: Scrape;
  /** With the zone that the customer has now. */
  readonly environment: Environment;
  readonly periodMs: number;
  readonly dayMs: number;
  /** How far the exporter's clock is ahead. */
  readonly aheadMs: number;
  /** Whether it was wrong earlier today: windows of branches were read by it. */
  readonly wasClockWrong: boolean;
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
  configOf: AuditContext['configOf'],
) {
  const violations: string[] = [];
  const decreases = createDecreaseAuditor({ clock, report });
  const context: AuditContext = {
    environment,
    service,
    clock,
    configOf,
    report,
    expectBetween,
    expectNoDecrease: decreases.audit,
  };
  const counters = createCounterAuditor(context);
  const occupancy = createOccupancyAuditor(context);
  const estimates = createEstimateAuditor(context);
  const breakdowns = createBreakdownAuditor(context);
  const branches = createBranchAuditor(context);
  const problems = createProblemAuditor(context);
  const secret = new RegExp(`secret-of-${environment.seed}|simulated\\.[0-9a-f]{8}|Bearer `);
  const mayStep = mayOccur(environment, 'clock steps');
  /** Last text by exporter; one that has not changed is not audited again on the same day. */
  const lastTexts = new Map<string, string>();
  /** The longest of the successful polls that ended in a millisecond. */
  const pollsMs = new Map<string, number>();
  /** The old zones of customers that have moved, and the start of the last period that they may be in there. */
  const movedFrom = new Map<string, { readonly timezone: string; readonly lastMs: number }>();
  /** When the clock of an exporter was wrong last. */
  const clockWrongMs = new Map<string, number>();
  let audits = 0;

  function report(what: string): void {
    if (violations.length < MAX_VIOLATIONS) {
      violations.push(`${new Date(clock.nowMs()).toISOString()} ${what}`);
    }
  }

  function expectBetween(what: string, value: number, served: readonly number[]): void {
    const slack = removedCounts(environment, Math.max(...served));
    const [least, most] = [Math.min(...served) - slack, Math.max(...served) + slack];
    if (!(value >= least && value <= most)) {
      report(`${what} is ${value}, and not ${least} to ${most}`);
    }
  }

  function expectNoSecret(text: string): void {
    if (secret.test(text)) {
      report('a secret or a token was shown');
    }
  }

  /** A customer is about to move to another zone. */
  function moved(customer: string): void {
    const { timezone } = environmentOf(customer);
    const lastMs = periodStart(clock.nowMs(), timezone, DAY_STARTS_AT);
    movedFrom.set(customer, { timezone, lastMs });
  }

  /** A successful poll ended at `endMs` by the exporter's clock. */
  function pollEnded(exporter: string, stream: Stream, endMs: number, tookMs: number): void {
    const poll = `${exporter} ${stream} ${Math.round(endMs)}`;
    pollsMs.set(poll, Math.max(tookMs, pollsMs.get(poll) ?? 0));
  }

  /** Checks what must hold at every moment. `page` renders the status page. */
  function audit(
    exporter: string,
    text: string | undefined,
    aheadMs: number,
    page: () => string,
  ): void {
    if (aheadMs !== 0) {
      clockWrongMs.set(exporter, clock.nowMs());
    }
    const days = service.customers.map(({ library: { name } }) => dayOf(name, aheadMs));
    const audited = `${days.join(' ')} ${text}`;
    if (text === undefined || lastTexts.get(exporter) === audited) {
      return;
    }
    lastTexts.set(exporter, audited);
    expectNoSecret(text);
    audits += 1;
    const isThorough = audits % THOROUGH_EVERY === 0;
    for (const of of customersOf(exporter, text, aheadMs)) {
      auditCalendar(of);
      auditHours(of);
      counters.audit(of);
      breakdowns.audit(of, isThorough);
      estimates.audit(of);
      if ((of.scrape.value('library_occupancy_people', of.customer) ?? 0) < 0) {
        report(`${exporter} shows an occupancy of ${of.customer} below 0`);
      }
      if (isThorough && !mayLackRows(environment) && !mayStep) {
        occupancy.audit(of, false);
      }
      if (audits % BRANCHES_EVERY === 0) {
        branches.audit(of, false);
      }
      problems.audit(of);
    }
    if (isThorough) {
      problems.auditPage(exporter, new Scrape(text), page());
    }
  }

  /** Checks what must hold after a reconcile interval without faults. */
  function expectTotals(exporter: string, text = ''): void {
    for (const of of customersOf(exporter, text, 0)) {
      counters.expectTotals(of);
      breakdowns.expectTotals(of);
      occupancy.audit(of, true);
      branches.audit(of, true);
    }
  }

  function environmentOf(customer: string): Environment {
    const { timezone } = configOf(customer);
    return timezone === environment.timezone ? environment : { ...environment, timezone };
  }

  function dayOf(customer: string, aheadMs: number): number {
    return dayStart(clock.nowMs() + aheadMs, configOf(customer).timezone, DAY_STARTS_AT);
  }

  function customersOf(exporter: string, text: string, aheadMs: number): readonly CustomerScrape[] {
    const scrape = new Scrape(text);
    return service.customers.map(({ library: { name: customer } }) => {
      const startName = 'library_period_start_timestamp_seconds';
      const periodMs = 1000 * (scrape.value(startName, customer) ?? NaN);
      const dayMs = dayOf(customer, aheadMs);
      const own = environmentOf(customer);
      const wasClockWrong = (clockWrongMs.get(exporter) ?? -Infinity) >= dayMs;
      const day = { periodMs, dayMs, aheadMs, wasClockWrong };
      return { exporter, customer, scrape, environment: own, ...day, lastPoll };

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

  /** The counting period is that of the month. A customer that moves stays in it until the next one. */
  function auditCalendar(of: CustomerScrape): void {
    const { exporter, customer, periodMs, aheadMs } = of;
    const nowMs = clock.nowMs() + aheadMs;
    const runningMs = periodStart(nowMs, of.environment.timezone, DAY_STARTS_AT);
    const moved = movedFrom.get(customer);
    // A clock that is weeks behind is in an earlier one.
    const isOfOldZone =
      moved !== undefined &&
      periodMs <= moved.lastMs &&
      periodStart(periodMs, moved.timezone, DAY_STARTS_AT) === periodMs;
    const isMoved = isOfOldZone && runningMs - periodMs < SAME_PERIOD_MS;
    // A clock that steps back over the start of a period stays in it.
    if (periodMs !== runningMs && !isMoved && !mayStep) {
      report(
        `${exporter} counts ${customer} from ${periodMs}, and the period started at ${runningMs}`,
      );
    }
  }

  /** A library is open in its opening hours, but for holidays if they say so. */
  function auditHours({ exporter, customer, scrape, aheadMs }: CustomerScrape): void {
    const { openingHours, breakdowns, timezone } = configOf(customer);
    const { library } = service.ledgerOf(customer);
    if (openingHours === undefined || breakdowns.includes('branch')) {
      return;
    }
    const localMs = wallMs(clock.nowMs() + aheadMs, timezone);
    const day = Math.floor(localMs / DAY_MS);
    const minute = Math.floor((localMs - day * DAY_MS) / MINUTE_MS);
    const isClosed = openingHours.includes('PH off') && HOLIDAYS.has(day);
    const interval = openInterval(library.opening, weekdayOf(day), minute);
    const expected = interval === undefined || isClosed ? 0 : 1;
    const exported = scrape.value('library_open', customer);
    if (exported !== expected) {
      report(`${exporter} library_open ${customer} is ${exported}, not ${expected}`);
    }
  }

  return {
    violations,
    report,
    expectNoSecret,
    /** A process was killed. */
    killed: decreases.killed,
    moved,
    pollEnded,
    audit,
    expectTotals,
  };
}
