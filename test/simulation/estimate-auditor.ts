/** Audits the occupancy estimate; how near it is to the ground truth is measured in bench/occupancy. */
import type { AuditContext, CustomerScrape } from './auditor.ts';
import { isExactAfterPoll, mayLackRows } from './tolerances.ts';

const NAMES = ['people', 'lower_people', 'upper_people'].map(
  (name) => `library_occupancy_estimate_${name}`,
);
const MINUTE_MS = 60_000;
const LAST_MINUTES_MS = 30 * MINUTE_MS;
/** Visits a day from which on a library that never closes has counts in most hours of the night. */
const BUSY_VISITS = 300;
/** The service's records start with the month of the first scrape. */
const MIN_HISTORY_DAYS = 5;

/** An estimate and the poll that it is from. */
interface Seen {
  readonly exporter: string;
  readonly values: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export function createEstimateAuditor({ environment, service, report }: AuditContext) {
  /** The last one by customer. */
  const lastSeen = new Map<string, Seen>();

  function audit(of: CustomerScrape): void {
    const { exporter, customer, scrape } = of;
    const values = estimateIn(of, report);
    if (values === undefined) {
      return;
    }
    if (scrape.value('library_occupancy_people', customer) === undefined) {
      report(`${exporter} estimates the people in ${customer}, and occupancy is absent`);
    }
    if (neverEmpties(customer)) {
      report(`${exporter} estimates the people in ${customer}, which never closes`);
    }
    expectSame(of, values.join(' '));
  }

  function neverEmpties(customer: string): boolean {
    return (
      environment.alwaysOpen &&
      environment.long === undefined &&
      service.ledgerOf(customer).library.visitsPerDay >= BUSY_VISITS &&
      new Date(environment.startMs).getUTCDate() > MIN_HISTORY_DAYS &&
      !mayLackRows(environment)
    );
  }

  /**
   * Verifies that a second exporter, or one after a restart, has the same estimate: compares two polls
   * in the same minute, between which nobody was counted.
   */
  function expectSame(of: CustomerScrape, values: string): void {
    const { exporter, customer, dayMs } = of;
    const poll = of.lastPoll('people');
    // Who comes in the last minutes of a day, after its last poll, is in the past of the next night.
    const [fromBefore, fromStart] = [dayMs - LAST_MINUTES_MS, dayMs].map((fromMs) =>
      JSON.stringify(service.served(customer, fromMs)),
    );
    const isAppended = fromBefore !== fromStart;
    if (poll === undefined || isAppended || !isExactAfterPoll(environment)) {
      return;
    }
    const toMs = Math.round(poll.endMs);
    const fromMs = Math.ceil(toMs - poll.tookMs);
    const seen = { exporter, values, fromMs, toMs };
    const other = lastSeen.get(customer);
    lastSeen.set(customer, seen);
    if (other === undefined || other.toMs === toMs) {
      return;
    }
    const firstMs = Math.min(fromMs, other.fromMs);
    const lastMs = Math.max(toMs, other.toMs);
    if (minuteOf(firstMs) !== minuteOf(lastMs) || values === other.values) {
      return;
    }
    const [before, after] = [firstMs, lastMs].map((ms) =>
      JSON.stringify(service.served(customer, dayMs, ms)),
    );
    if (before === after) {
      const both = `${values} by ${exporter} and ${other.values} by ${other.exporter}`;
      report(`people in ${customer} are estimated as ${both} from the same records`);
    }
  }

  return { audit };
}

/** Returns the estimate of a building, its lower and its upper end; undefined if there is none. */
export function estimateIn(
  { exporter, customer, scrape }: CustomerScrape,
  report: AuditContext['report'],
  ...branch: readonly string[]
): readonly [people: number, lower: number, upper: number] | undefined {
  const values = NAMES.map((name) => scrape.value(name, customer, ...branch));
  const [people, lower, upper] = values;
  const building = [customer, ...branch].join(' ');
  if (people === undefined || lower === undefined || upper === undefined) {
    if (values.some((value) => value !== undefined)) {
      report(`${exporter} ${building} has an incomplete estimate: ${values.join(', ')}`);
    }
    return undefined;
  }
  if (!(lower >= 0 && lower <= people && people <= upper && upper < Infinity)) {
    report(`${exporter} estimates ${people} people in ${building}, between ${lower} and ${upper}`);
  }
  return [people, lower, upper];
}

function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS);
}
