/**
 * Audits the gauges of branches. Today's sums are those of the service at an instant shortly before. The other
 * gauges must follow from the records that it had then: the sums of quarter-hours, and of what came since. On
 * a day with late records these are right only once the day is over.
 */
import { DAY_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { learnDoors } from '../../src/counting/occupancy/door-model.ts';
import type { DoorModel } from '../../src/counting/occupancy/door-model.ts';
import { estimateInside } from '../../src/counting/occupancy/estimate.ts';
import type { Branch } from '../../src/simulator/libraries.ts';
import { dayStart, wallMs } from '../acceptance/local-time.ts';
import { branchRecords } from '../support/ground-truth.ts';
import type { BranchRecord } from '../support/ground-truth.ts';
import type { AuditContext, CustomerScrape } from './auditor.ts';
import { idOf, SIDES } from './breakdown-auditor.ts';
import { estimateIn } from './estimate-auditor.ts';
import {
  canAuditBranches,
  canAuditBranchEstimates,
  DAY_STARTS_AT,
  haveWindowsKeyTime,
  lagMs,
  mayConfuseHours,
  mayLackRows,
  mayOccur,
} from './tolerances.ts';

const QUARTER_MS = 15 * MINUTE_MS;
const HISTORY_DAYS = 28;
/** A window is read this long after its end. */
const SETTLE_MS = 5 * MINUTE_MS;
/** Values older than a quarter-hour are absent; reading them takes less than a minute. */
const MAX_AGE_MS = 16 * MINUTE_MS;
/** Values are exported with all of their digits. */
const TOLERANCE = 1e-6;

/** What the service has of one branch in a day, by window and since the last of them. */
interface Counted {
  readonly windows: readonly BranchSums[];
  readonly running: BranchSums;
}

interface BranchSums {
  entered: number;
  exited: number;
}

export function createBranchAuditor(context: AuditContext) {
  const { environment, service, clock, configOf, report, expectBetween } = context;
  const { conventions, intervalMs, startMs } = environment;
  // By arrival, a record may be in the window after that of its key, which is read a quarter-hour later.
  const maxAgeMs = haveWindowsKeyTime(environment)
    ? MAX_AGE_MS
    : MAX_AGE_MS + QUARTER_MS + SETTLE_MS + 2 * intervalMs;
  const mayStep = mayOccur(environment, 'clock steps');
  /** By customer, day and branch. */
  const models = new Map<string, DoorModel>();

  /** Audits what may be absent; `inTheEnd` only where the last successful poll is old. */
  function audit(of: CustomerScrape, inTheEnd: boolean): void {
    if (!environment.breakdowns.includes('branch')) {
      return;
    }
    auditNames(of);
    if (inTheEnd || (!mayLackRows(environment) && !mayStep)) {
      auditWindows(of, inTheEnd);
    }
  }

  /** There are no other branches than those that exist or are configured. */
  function auditNames({ exporter, customer, scrape }: CustomerScrape): void {
    const known = new Set(branchesOf(customer).map(({ id }) => id));
    const configured = configOf(customer).branches;
    const isForced = conventions.forcedGroups === 'always';
    for (const [key, inside] of scrape.values('library_occupancy_people', customer)) {
      if (key !== '' && !known.has(idOf(key)) && !Object.hasOwn(configured, key)) {
        report(`${exporter} has a branch ${key} of ${customer} that does not exist`);
      }
      if (isForced && inside > 0) {
        report(`${exporter} has people in ${key} of ${customer}, and the service has no branches`);
      }
    }
    for (const [key, { capacity }] of Object.entries(configured)) {
      const exported = scrape.value('library_capacity_people', customer, key);
      if (exported !== capacity) {
        report(`${exporter} ${customer} ${key} has a capacity of ${exported}, not ${capacity}`);
      }
    }
  }

  /** Today's entries and exits are those of the service at some instant before values are too old. */
  function auditSums({ exporter, customer, scrape, dayMs }: CustomerScrape, tookMs: number): void {
    const nowMs = clock.nowMs();
    const earlyMs = nowMs - maxAgeMs - lagMs(environment, nowMs - dayMs, tookMs);
    const [early, late] = [earlyMs, nowMs].map((atMs) =>
      service.breakdownTotals(customer, 'branch', dayMs, atMs),
    );
    for (const key of scrape.values('library_occupancy_people', customer).keys()) {
      for (const side of SIDES) {
        const value = scrape.value(`library_people_${side}_today`, customer, key) ?? NaN;
        const served = [early, late].map((totals) => totals?.get(idOf(key))?.[side] ?? 0);
        expectBetween(`${exporter} ${customer} ${key} ${side} today`, value, served);
      }
    }
  }

  function auditWindows(of: CustomerScrape, inTheEnd: boolean): void {
    const { exporter, customer, scrape, dayMs } = of;
    const poll = of.lastPoll('people');
    const nowMs = clock.nowMs();
    const mayConfuse = mayConfuseHours(of.environment, dayMs, nowMs, Infinity);
    if (poll === undefined || !canAuditBranches(environment) || mayConfuse) {
      return;
    }
    auditSums(of, poll.tookMs);
    const records = branchRecords(service, customer, dayMs, dayMs, nowMs);
    const isCurveKnown =
      !of.wasClockWrong &&
      !mayLackRows(environment) &&
      !records.some((record) => changedLate(record, dayMs, nowMs));
    // Late records are among the customer's minutes, and so in a window, from the next baseline on.
    const pollMs = poll.endMs - lagMs(environment, nowMs - dayMs, poll.tookMs) - maxAgeMs;
    const byBranch = Map.groupBy(records, ({ branchId }) => branchId);
    const exported = scrape.values('library_occupancy_people', customer);
    // Older than the last poll while a lower total awaits its confirmation.
    const accepted = scrape.value('library_values_accepted_timestamp_seconds', customer, 'people');
    const isOld = nowMs - 1000 * (accepted ?? 0) > 14 * MINUTE_MS || intervalMs > 10 * MINUTE_MS;
    const isNewDay = nowMs - dayMs < 5 * intervalMs + MAX_AGE_MS;
    const mayBeAbsent = !inTheEnd || isOld || isNewDay || conventions.rateLimit !== undefined;
    for (const { id } of branchesOf(customer)) {
      const own = byBranch.get(id) ?? [];
      const key = [...exported.keys()].find((one) => one !== '' && idOf(one) === id);
      if (key === undefined) {
        if (own.some(({ knownFromMs }) => knownFromMs < pollMs) && !mayBeAbsent) {
          report(`${exporter} has no occupancy of branch ${id} of ${customer} in the end`);
        }
        continue;
      }
      if (isCurveKnown) {
        const inside = exported.get(key) ?? NaN;
        const counts = new Set(
          Array.from(possibleCounts(dayMs, own), ({ counted }) => occupancyOf(counted)),
        );
        if (!counts.has(inside)) {
          const possible = [...counts].join(' or ');
          report(
            `${exporter} library_occupancy_people ${customer} ${key} is ${inside}, not ${possible}`,
          );
        }
        auditLastSeen(of, key, own);
        auditEstimate(of, key, own, poll.tookMs);
      }
    }
  }

  /** To the window, or to a poll; a branch that was not seen today has an older value. */
  function auditLastSeen(of: CustomerScrape, key: string, records: readonly BranchRecord[]): void {
    const { exporter, customer, scrape, dayMs } = of;
    const name = 'library_people_last_seen_timestamp_seconds';
    const exported = 1000 * (scrape.value(name, customer, key) ?? NaN);
    const nowMs = clock.nowMs();
    // Where no window includes its edges, a record on the edge of two is in the next one.
    const settledMs = nowMs - maxAgeMs - SETTLE_MS - 2 * intervalMs;
    const settled = records.filter(({ knownFromMs }) => knownFromMs < settledMs);
    const [newest, settledNewest] = [records, settled].map((some) =>
      some.reduce((max, { windowMs }) => Math.max(max, windowMs), -Infinity),
    );
    if (exported > nowMs) {
      report(`${exporter} ${customer} ${key} was last seen in the future, at ${exported / 1000}`);
    }
    const least = (settledNewest ?? -Infinity) - QUARTER_MS - MINUTE_MS;
    const most = (newest ?? -Infinity) + MAX_AGE_MS + intervalMs;
    if (exported < least || (exported >= dayMs && exported > most)) {
      report(
        `${exporter} ${customer} ${key} was last seen at ${exported / 1000}, not ${least / 1000} to ${most / 1000}`,
      );
    }
  }

  /** The method has golden vectors: this verifies the counts that it is given, of today and of 28 days. */
  function auditEstimate(
    of: CustomerScrape,
    key: string,
    records: readonly BranchRecord[],
    tookMs: number,
  ): void {
    const { exporter, customer, dayMs } = of;
    const exported = estimateIn(of, report, key);
    const { branches: configured, openingHours, timezone } = configOf(customer);
    const settings = Object.hasOwn(configured, key) ? configured[key] : undefined;
    if (exported === undefined) {
      return;
    }
    if (settings?.estimate === false) {
      report(`${exporter} estimates the people in ${key} of ${customer}, which is switched off`);
    }
    const hours = settings?.openingHours ?? openingHours;
    if (hours !== undefined || !canAuditBranchEstimates(of.environment)) {
      return;
    }
    // Counts are of the minute of the customer's poll, also if a request for them failed and is repeated before the next.
    const repeatedMs = environment.faultRate > 0 ? intervalMs : 0;
    /** Whether the estimate follows from counts of the last minutes. */
    function followsFrom(model: DoorModel, shown: readonly number[]): boolean {
      const day = { startMs: dayMs, endMs: dayMs + DAY_MS };
      for (const { counted, fromMs, toMs } of possibleCounts(dayMs, records)) {
        const lastMinute = Math.ceil((toMs + MINUTE_MS - dayMs) / MINUTE_MS);
        const firstMinute = Math.ceil((fromMs - tookMs - repeatedMs - dayMs) / MINUTE_MS);
        for (let minute = lastMinute; minute >= firstMinute; minute -= 1) {
          const endMs = dayMs + minute * MINUTE_MS;
          if (finishedWindows(endMs, dayMs) === counted.windows.length) {
            const minutes = minutesOf(counted, minute);
            const today = { ...minutes, day, weekday: 0, before: [0, 0] };
            const estimate = estimateInside(model, today, endMs, [day]);
            const values = [estimate.people, estimate.lower, estimate.upper];
            if (shown.every((value, place) => isNear(value, values[place]))) {
              return true;
            }
          }
        }
      }
      return false;
    }
    const doors = modelsOf(customer, idOf(key), dayMs, timezone);
    if (doors.length > 0 && !doors.some((model) => followsFrom(model(), exported))) {
      report(
        `${exporter} estimates ${exported[0]} people in ${key} of ${customer}, which follows from no counts of the last minutes`,
      );
    }
  }

  /**
   * The doors as learned from 28 days: those from an exporter's first start, or its first after it lost its
   * store, by quarter-hour. None if a record came around the day's start.
   */
  function modelsOf(
    customer: string,
    branchId: number,
    dayMs: number,
    timezone: string,
  ): readonly (() => DoorModel)[] {
    const days: number[] = [dayMs];
    while (days.length <= HISTORY_DAYS) {
      const before = (days[0] ?? dayMs) - DAY_MS / 2;
      days.unshift(dayStart(before, timezone, DAY_STARTS_AT));
    }
    const all = branchRecords(service, customer, days[0] ?? 0, dayMs, clock.nowMs());
    const isAtStart = all.some(
      ({ windowMs, knownFromMs }) =>
        Math.abs(windowMs - dayMs) < SETTLE_MS || (windowMs < dayMs && knownFromMs > dayMs),
    );
    if (isAtStart) {
      return [];
    }
    const own = all.filter((record) => record.branchId === branchId);
    const firstMs = dayStart(startMs, timezone, DAY_STARTS_AT);
    const starts = days.filter((ms) => ms >= firstMs || ms === dayMs);
    return starts.map((quartersFromMs) => () => {
      const name = `${customer} ${branchId} ${dayMs} ${quartersFromMs}`;
      const model = models.get(name) ?? learned(own, days, quartersFromMs, timezone);
      models.set(name, model);
      return model;
    });
  }

  function learned(
    records: readonly BranchRecord[],
    days: readonly number[],
    quartersFromMs: number,
    timezone: string,
  ): DoorModel {
    const weekdays = days.map((dayStartMs) => new Date(wallMs(dayStartMs, timezone)).getUTCDay());
    const past = days.slice(0, -1).map((dayStartMs, i) => {
      const ofDay = records.filter(({ windowMs }) =>
        isWithin(windowMs, dayStartMs, days[i + 1] ?? NaN),
      );
      const quartersPerStep = dayStartMs < quartersFromMs ? 4 : 1;
      const counts = SIDES.map((side) => {
        const quarters = new Float64Array(25 * 4);
        for (const { windowMs, [side]: count } of ofDay) {
          const step = windowOf(windowMs, dayStartMs, quartersPerStep * QUARTER_MS);
          for (let i = 0; i < quartersPerStep; i += 1) {
            const quarter = step * quartersPerStep + i;
            quarters[quarter] = (quarters[quarter] ?? 0) + count / quartersPerStep;
          }
        }
        return quarters;
      });
      return { weekday: weekdays[i] ?? NaN, stepMs: QUARTER_MS, first: 0, counts };
    });
    return learnDoors(past, weekdays.at(-1) ?? NaN);
  }

  /** What the service had at each instant of the last minutes, and the windows that may have been finished. */
  function* possibleCounts(dayMs: number, records: readonly BranchRecord[]) {
    const nowMs = clock.nowMs();
    const oldestMs = Math.max(dayMs, nowMs - maxAgeMs);
    const changes = records
      .flatMap(({ knownFromMs, goneMs }) => [knownFromMs, goneMs])
      .filter((atMs) => atMs > oldestMs && atMs <= nowMs);
    const instants = [...new Set([oldestMs, ...changes])].toSorted((a, b) => b - a);
    for (const [i, fromMs] of instants.entries()) {
      const toMs = instants[i - 1] ?? nowMs;
      const known = records.filter(
        ({ knownFromMs, goneMs }) => knownFromMs <= fromMs && goneMs > fromMs,
      );
      const last = finishedWindows(nowMs, dayMs);
      const first = finishedWindows(fromMs - 2 * SETTLE_MS, dayMs);
      for (let windows = last; windows >= first; windows -= 1) {
        yield { counted: countedIn(known, dayMs, windows), fromMs, toMs };
      }
    }
  }

  function countedIn(
    records: readonly BranchRecord[],
    dayMs: number,
    windowCount: number,
  ): Counted {
    const windows = Array.from({ length: windowCount }, () => ({ entered: 0, exited: 0 }));
    const running = { entered: 0, exited: 0 };
    for (const { windowMs, entered, exited } of records) {
      const sums = windows[windowOf(windowMs, dayMs, QUARTER_MS)] ?? running;
      sums.entered += entered;
      sums.exited += exited;
    }
    return { windows, running };
  }

  /** The first window whose sums since the day's start have a record. */
  function windowOf(windowMs: number, dayMs: number, stepMs: number): number {
    const steps = (windowMs - dayMs) / stepMs;
    return conventions.toEdge === 'inclusive'
      ? Math.max(0, Math.ceil(steps) - 1)
      : Math.floor(steps);
  }

  function isWithin(windowMs: number, fromMs: number, toMs: number): boolean {
    const isAfter = conventions.fromEdge === 'inclusive' ? windowMs >= fromMs : windowMs > fromMs;
    return isAfter && (conventions.toEdge === 'inclusive' ? windowMs <= toMs : windowMs < toMs);
  }

  function branchesOf(customer: string): readonly Branch[] {
    return service.ledgerOf(customer).library.branches;
  }

  return { audit };
}

/** Whether a record appeared or went after an instant, and after its window had been read. */
function changedLate(
  { windowMs, knownFromMs, goneMs }: BranchRecord,
  sinceMs: number,
  nowMs: number,
): boolean {
  const isLate = knownFromMs > sinceMs && knownFromMs - windowMs > SETTLE_MS - MINUTE_MS;
  return isLate || (goneMs > sinceMs && goneMs <= nowMs);
}

/** Minutes that have begun count as over. */
function finishedWindows(endMs: number, dayMs: number): number {
  const minutes = Math.ceil((endMs - dayMs) / MINUTE_MS);
  return Math.max(0, Math.floor((minutes * MINUTE_MS - SETTLE_MS) / QUARTER_MS));
}

/** Nobody can leave an empty building: an exit that is too many is ignored. */
function occupancyOf({ windows, running }: Counted): number {
  return [...windows, running].reduce(
    (inside, { entered, exited }) => Math.max(0, inside + entered - exited),
    0,
  );
}

/** Counts of a window spread evenly over its minutes. */
function minutesOf({ windows, running }: Counted, endMinute: number) {
  const start = windows.length * 15;
  const counts = SIDES.map((side) =>
    Float64Array.from({ length: endMinute }, (_, minute) =>
      minute < start
        ? (windows[Math.floor(minute / 15)]?.[side] ?? 0) / 15
        : running[side] / (endMinute - start),
    ),
  );
  return { stepMs: MINUTE_MS, first: 0, counts };
}

function isNear(a: number, b = NaN): boolean {
  return Math.abs(a - b) <= TOLERANCE * Math.max(1, Math.abs(a));
}
