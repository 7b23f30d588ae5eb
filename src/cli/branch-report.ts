/** What `check --connect` says about branches and doors: those of the service, and of the configuration. */
import { printable } from '../base/output.ts';
import { DAY_MS, HOUR_MS } from '../base/duration.ts';
import { ServiceError, serviceErrorOf } from '../base/errors.ts';
import type { Breakdown } from '../base/model.ts';
import { countsOf, compareKeys, readByKey } from '../counting/breakdowns/poll-breakdown.ts';
import type { Span } from '../counting/calendar/calendar.ts';
import { doorMetrics } from '../counting/customer-metrics.ts';
import type { EstimateMetrics } from '../counting/customer-metrics.ts';
import {
  HISTORY_DAYS,
  learnDoors,
  QUARTER_MS,
  QUARTERS_PER_DAY,
} from '../counting/occupancy/door-model.ts';
import type { PastDay } from '../counting/occupancy/door-model.ts';
import { pastDays } from '../counting/past/past.ts';
import type { Past } from '../counting/past/past.ts';
import { grandTotal, isZero, minus } from '../counting/rows/counts.ts';
import type { Counts, CountsByKey } from '../counting/rows/counts.ts';
import { WindowReader } from '../counting/rows/window-reader.ts';
import type { Query } from '../counting/rows/window-reader.ts';
import { findSilent } from '../counting/check/silent-keys.ts';
import type { RegisteredCustomer } from '../customers.ts';

export interface BranchReport {
  readonly key: string;
  /** As configured. */
  readonly name: string | undefined;
  readonly isConfigured: boolean;
  /** Entries and exits of 28 days and of today; 0 for a branch that the service does not know. */
  readonly counts: Counts;
  /** What the doors' past says, for a customer that is polled by branch. */
  readonly doors: Partial<Pick<EstimateMetrics, 'ratio' | 'isEstimable'>>;
}

/**
 * Reads the branches that the service or the configuration has, in the order of their keys; none for a
 * customer that is one building. Without the customer's own history, which says which nights are empty,
 * nothing is learned of their doors. Findings are failures of the service, ids that it does not know, and
 * missing names.
 */
export async function reportBranches(
  registered: Pick<RegisteredCustomer, 'customer' | 'config'>,
  history: Past | undefined,
  query: Query,
  nowMs: number,
) {
  const branches = await readBranches(registered, history, query, nowMs).catch(serviceErrorOf);
  return branches instanceof ServiceError
    ? { branches: [], findings: [`error: branches: ${branches.reason}: ${branches.message}`] }
    : { branches, findings: findingsOf(branches) };
}

async function readBranches(
  { customer, config }: Pick<RegisteredCustomer, 'customer' | 'config'>,
  history: Past | undefined,
  query: Query,
  nowMs: number,
): Promise<readonly BranchReport[]> {
  const { branches: configured, breakdowns, streams } = config;
  const isByBranch = breakdowns.includes('branch');
  if (!streams.includes('people') || (!isByBranch && Object.keys(configured).length === 0)) {
    return [];
  }
  const { calendar } = customer;
  const { zone } = calendar;
  const reader = new WindowReader({ query, stream: 'people', zone, nowMs: () => nowMs });
  let day = calendar.dayAt(nowMs);
  const days = Array.from({ length: HISTORY_DAYS }, () => (day = calendar.dayBefore(day)));
  const totals = await readByKey(reader, 'branch', day.startMs);
  const past = isByBranch && history ? await readDays(reader, history, days) : [];
  const keys = new Set([...Object.keys(configured), ...totals.keys()]);
  return [...keys].toSorted(compareKeys).map((key) => {
    const branch = Object.hasOwn(configured, key) ? configured[key] : undefined;
    const pastOfKey = past.map((one) => pastDayOf(one, key));
    return {
      key,
      name: branch?.name,
      isConfigured: branch !== undefined,
      counts: countsOf(totals, key),
      doors:
        isByBranch && history && totals.has(key)
          ? doorMetrics(learnDoors(pastOfKey, history.weekday))
          : {},
    };
  });
}

/** From here on a day is night: nobody should be inside. */
const NIGHT_FROM_MS = 23 * HOUR_MS;

/** The counts of the branches up to the last hour of a day, and in it. */
interface BranchesOfDay {
  readonly weekday: number;
  readonly before: CountsByKey;
  readonly whole: CountsByKey;
}

/** Returns the past days of the branches, oldest first, with as much detail as the ratio and the nights need. */
async function readDays(
  reader: WindowReader,
  history: Past,
  days: readonly Span[],
): Promise<readonly BranchesOfDay[]> {
  const customerDays = pastDays(history).toReversed();
  const read: BranchesOfDay[] = [];
  for (const [i, { weekday, ...customerDay }] of customerDays.entries()) {
    const { startMs, endMs } = days[i] ?? { startMs: NaN, endMs: NaN };
    const whole = await readByKey(reader, 'branch', startMs, endMs);
    const nightMs = Math.min(startMs + NIGHT_FROM_MS, endMs);
    const hasNight = nightMs < endMs && countsAfter(customerDay, NIGHT_FROM_MS) > 0;
    const before = hasNight ? await readByKey(reader, 'branch', startMs, nightMs) : whole;
    read.unshift({ weekday, before, whole });
  }
  return read;
}

function countsAfter({ stepMs, first, counts }: Omit<PastDay, 'weekday'>, elapsedMs: number) {
  const step = Math.max(0, elapsedMs / stepMs - first);
  return grandTotal(counts.flatMap((ofCounter) => [...ofCounter.subarray(step)]));
}

/** The order within the day is known of its last hour only: the rest is in one quarter-hour before. */
function pastDayOf({ weekday, before, whole }: BranchesOfDay, key: string): PastDay {
  const atDay = countsOf(before, key);
  const night = minus(countsOf(whole, key), atDay);
  const counts = atDay.map((count, counter) =>
    new Float64Array(QUARTERS_PER_DAY)
      .fill(count, QUARTERS_PER_DAY / 2, QUARTERS_PER_DAY / 2 + 1)
      .fill(night[counter] ?? 0, QUARTERS_PER_DAY - 1),
  );
  return { weekday, stepMs: QUARTER_MS, first: 0, counts };
}

/** More are counted. */
const MAX_LISTED = 10;

function findingsOf(branches: readonly BranchReport[]): readonly string[] {
  const unknown = branches.filter(({ counts, isConfigured }) => isConfigured && isZero(counts));
  const unnamed = branches.filter(({ counts, name }) => name === undefined && !isZero(counts));
  return [
    [unknown, 'configured, but not counted in 28 days: is the id right?'] as const,
    [unnamed, 'without a name under branches'] as const,
  ].flatMap(([found, text]) =>
    warningOf(
      'branch',
      found.map(({ key }) => key),
      text,
    ),
  );
}

/** Returns no warning without keys. */
function warningOf(breakdown: Breakdown, keys: readonly string[], text: string): readonly string[] {
  const shown = keys.slice(0, MAX_LISTED).map(printable).join(', ');
  const more = keys.length > MAX_LISTED ? ` and ${keys.length - MAX_LISTED} more` : '';
  return keys.length === 0 ? [] : [`warning: ${breakdown} ${shown}${more}: ${text}`];
}

/** In days: what is compared, each with the same weekdays before. */
const COMPARED = [
  { text: '24 hours', days: 1, before: [8, 7] },
  { text: '7 days', days: 7, before: [28, 0] },
] as const;

/**
 * Returns warnings of branches or doors that counted nobody lately while the others did. None if the service
 * does not return them: they may not be configured.
 */
export async function reportSilent(
  breakdown: Breakdown,
  { customer, config }: Pick<RegisteredCustomer, 'customer' | 'config'>,
  query: Query,
  nowMs: number,
): Promise<readonly string[]> {
  if (!config.streams.includes('people')) {
    return [];
  }
  const { zone } = customer.calendar;
  const reader = new WindowReader({ query, stream: 'people', zone, nowMs: () => nowMs });
  const warnings: string[] = [];
  try {
    for (const { text, days, before } of COMPARED) {
      const [from, to] = before.map((daysAgo) => nowMs - daysAgo * DAY_MS);
      const earlier = await readByKey(reader, breakdown, from ?? nowMs, to);
      const lately = await readByKey(reader, breakdown, nowMs - days * DAY_MS);
      const found = `nobody in the last ${text}, while the others counted: dead, or closed?`;
      warnings.push(...warningOf(breakdown, findSilent(earlier, lately), found));
    }
  } catch (error) {
    serviceErrorOf(error);
  }
  return warnings;
}
