/**
 * Audits problems against the records of the service: one of doors begins with the newest count and ends with the
 * next one, dead doors are found, a healthy building seldom has one, and the status page shows what /metrics has.
 */
import { PROBLEM_KINDS, PROBLEMS } from '../../src/counting/problems.ts';
import { openWindow } from '../../src/simulator/ground-truth.ts';
import { dayMs, hourMs, minuteMs, offsetMs, wallMs } from '../acceptance/local-time.ts';
import { branchRecords } from '../support/ground-truth.ts';
import type { BranchRecord } from '../support/ground-truth.ts';
import type { AuditContext, CustomerScrape } from './auditor.ts';
import { HOLIDAYS } from './holidays.ts';
import type { Scrape } from './scrape.ts';
import {
  canAuditBranches,
  canAuditOccupancy,
  isExactAfterPoll,
  mayConfuseHours,
} from './tolerances.ts';

const NAME = 'library_problem_start_timestamp_seconds';
const USUAL = 'library_people_entered_usual_hour';
const QUARTER_MS = 15 * minuteMs;
const WEEKS = [1, 2, 3, 4];
/** Twice as many people as must be missed, in each of the weeks before, until an hour ago. */
const MIN_MISSED = 20;
/** Values of polls that are older are too old for problems of counts. */
const MAX_AGE_MS = 14 * minuteMs;
/** Problems of a building whose doors are never dead: docs/alerts.md has five a year where holidays are not known. */
const MAX_FALSE = 1;
const MAX_FALSE_PER_DAY = 1 / 20;

/** Ids of branches have five digits. */
const BRANCH_ID = /\d{5}/;

/** Which counts end a problem of doors. */
const ENDED_BY: Readonly<Record<string, (record: BranchRecord) => boolean>> = {
  nobody_counted: ({ entered, exited }) => entered + exited > 0,
  entries_missing: ({ entered }) => entered > 0,
  exits_missing: ({ exited }) => exited > 0,
};

interface ShownProblem {
  readonly kind: string;
  /** NaN for a problem of the customer, or of its only building. */
  readonly branchId: number;
  readonly sinceMs: number;
}

export function createProblemAuditor(context: AuditContext) {
  const { environment, service, clock, configOf, report } = context;
  const { retentionMs } = environment.conventions;
  const isByBranch = environment.breakdowns.includes('branch');
  /** By building, the starts of the problems of one whose doors are never dead. */
  const falseStarts = new Map<string, Set<number>>();

  function audit(of: CustomerScrape): void {
    const { exporter, customer, environment: own, aheadMs } = of;
    const canAudit = isByBranch ? canAuditBranches(own) : canAuditOccupancy(own);
    const poll = of.lastPoll('people');
    const nowMs = clock.nowMs();
    const mayConfuse = mayConfuseHours(own, of.dayMs, nowMs, Infinity);
    if (!canAudit || !isExactAfterPoll(own) || poll === undefined || aheadMs !== 0 || mayConfuse) {
      return;
    }
    const shown = shownIn(of.scrape, customer);
    for (const problem of shown.filter(({ kind }) => kind in ENDED_BY)) {
      auditStart(of, problem, poll.endMs - poll.tookMs);
      countFalse(exporter, customer, problem);
    }
    if (!isByBranch && nowMs - poll.endMs < MAX_AGE_MS && shown.length === 0) {
      expectFound(of, poll.endMs - poll.tookMs);
    }
  }

  /**
   * Of a branch, to the window, which of past days is an hour, and to what is read after the poll. A problem may outlast
   * the record of the newest count.
   */
  function auditStart(of: CustomerScrape, problem: ShownProblem, pollMs: number): void {
    const { kind, branchId, sinceMs } = problem;
    const slackMs = isByBranch ? hourMs + 2 * minuteMs + 2 * environment.intervalMs : minuteMs;
    const fromMs = sinceMs - slackMs - QUARTER_MS;
    const name = `${of.exporter} ${kind} of ${of.customer} ${branchId} since ${sinceMs / 1000}`;
    const times = branchRecords(service, of.customer, fromMs, fromMs, clock.nowMs())
      .filter((record) => Number.isNaN(branchId) || record.branchId === branchId)
      .filter((record) => ENDED_BY[kind]?.(record) === true)
      .filter(({ knownFromMs }) => knownFromMs < pollMs - slackMs)
      .map(({ keyMs }) => keyMs);
    const newestMs = Math.max(...times);
    if (newestMs > sinceMs + QUARTER_MS + slackMs) {
      report(`${name} lasts, and somebody was counted at ${newestMs / 1000}`);
    } else if (newestMs < sinceMs - slackMs && fromMs > clock.nowMs() - retentionMs) {
      report(`${name} does not begin with a count`);
    }
  }

  function countFalse(exporter: string, customer: string, problem: ShownProblem): void {
    const { branchId, sinceMs } = problem;
    const { devices } = service.ledgerOf(customer).library;
    const doors = devices.filter(
      (one) => one.kind === 'door' && (Number.isNaN(branchId) || one.branchId === branchId),
    );
    if (doors.some(({ sensor }) => sensor.length > 1)) {
      return;
    }
    const building = `${exporter} ${customer} ${branchId}`;
    const starts = (falseStarts.get(building) ?? new Set()).add(sinceMs);
    falseStarts.set(building, starts);
    if (starts.size > MAX_FALSE + MAX_FALSE_PER_DAY * environment.days) {
      report(`${building} has ${problem.kind} for the ${starts.size}th time, and all doors count`);
    }
  }

  /** A building whose doors died today, while people come in all weeks before, and somebody logs in. */
  function expectFound(of: CustomerScrape, pollMs: number): void {
    const { exporter, customer, scrape, dayMs: todayMs } = of;
    const { timezone, streams } = configOf(customer);
    const ledger = service.ledgerOf(customer);
    const nowMs = clock.nowMs();
    const today = branchRecords(service, customer, todayMs, todayMs, nowMs);
    const lastMs = Math.max(...today.map(({ keyMs }) => keyMs));
    const isKnown = scrape.value(USUAL, customer) !== undefined && streams.includes('logins');
    const isOff = [todayMs, nowMs].some((ms) =>
      HOLIDAYS.has(Math.floor(wallMs(ms, timezone) / dayMs)),
    );
    if (!isKnown || isOff || lastMs === -Infinity || pollMs - lastMs < hourMs + QUARTER_MS) {
      return;
    }
    const came = WEEKS.flatMap((week) => {
      const laterMs = nowMs - week * 7 * dayMs;
      const shiftMs = week * 7 * dayMs + offsetMs(laterMs, timezone) - offsetMs(nowMs, timezone);
      const ofDay = branchRecords(service, customer, todayMs - shiftMs, nowMs, nowMs).filter(
        ({ keyMs }) => keyMs < todayMs - shiftMs + dayMs,
      );
      const missed = ofDay.filter(
        ({ keyMs }) => keyMs > lastMs - shiftMs + QUARTER_MS && keyMs < pollMs - shiftMs - hourMs,
      );
      const isWhole = todayMs - shiftMs >= ledger.startMs;
      return ofDay.length === 0 || !isWhole ? [] : missed.length;
    });
    const logins = ledger.records(openWindow(ledger, 'logins', lastMs + QUARTER_MS, nowMs));
    const isInUse = logins.some(
      ({ keyMs, knownFromMs }) =>
        keyMs > lastMs + QUARTER_MS + minuteMs && knownFromMs < pollMs - environment.intervalMs,
    );
    if (isInUse && came.length > 0 && Math.min(...came) >= MIN_MISSED) {
      report(
        `${exporter} has no problem of ${customer}, last counted at ${lastMs / 1000}, where ${came.join(', ')} came in the weeks before`,
      );
    }
  }

  /** The problems on the status page are those of /metrics. */
  function auditPage(exporter: string, scrape: Scrape, page: string): void {
    const shown = service.customers.flatMap(({ library }) => shownIn(scrape, library.name));
    for (const kind of PROBLEM_KINDS) {
      const isOnPage = page.includes(`>${PROBLEMS[kind].words}<`);
      if (isOnPage !== shown.some((one) => one.kind === kind)) {
        report(`${exporter} shows ${kind} ${isOnPage ? 'only' : 'not'} on its status page`);
      }
    }
  }

  return { audit, auditPage };
}

/** The labels are key and name of a branch, and the problem. */
function shownIn(scrape: Scrape, customer: string): readonly ShownProblem[] {
  return Array.from(scrape.values(NAME, customer), ([labels, seconds]) => {
    const kind = labels.slice(labels.lastIndexOf(' ') + 1);
    // Not idOf: the name, which comes after the key, may end with a number of its own.
    return { kind, branchId: Number(BRANCH_ID.exec(labels)?.[0]), sinceMs: 1000 * seconds };
  });
}
