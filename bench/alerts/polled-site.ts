/** A simulated library for the exporter's own code: at each poll it is given what the service would show. */
import { HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { contains } from '../../src/counting/calendar/calendar.ts';
import type { Calendar, Span } from '../../src/counting/calendar/calendar.ts';
import type { OpeningHours } from '../../src/counting/calendar/opening-hours.ts';
import type { SiteMetrics } from '../../src/counting/customer-metrics.ts';
import { HISTORY_DAYS, QUARTER_MS } from '../../src/counting/occupancy/door-model.ts';
import { CountedDays } from '../../src/counting/past/counted-days.ts';
import { createPast, daysBefore } from '../../src/counting/past/past.ts';
import { usualLogins } from '../../src/counting/past/usual.ts';
import { LIMITS, problemsOfCustomer } from '../../src/counting/problems.ts';
import type { SiteDevice } from '../../src/counting/devices.ts';
import type { Problem } from '../../src/counting/problems.ts';
import { stepsUntil } from '../../src/counting/rows/day-counts.ts';
import type { CountsToday, DayCounts } from '../../src/counting/rows/day-counts.ts';
import { Site } from '../../src/counting/site.ts';
import { between, countsOfDay, lastCount, START_MS } from './libraries.ts';
import type { LibraryCounts, Sums } from './libraries.ts';

export const STEP_MS = 5 * MINUTE_MS;
const WEEKS = [1, 2, 3, 4];
/** People by which the usual of quarter-hours may differ from that of minutes. */
const SLACK = 2;

interface Simulated {
  readonly calendar: Calendar;
  readonly openingHours: OpeningHours | undefined;
  readonly counts: LibraryCounts;
  readonly lagMs: number;
  /** Of a minute; of a branch, the service has windows alone. */
  readonly stepMs: number;
}

export class PolledSite {
  readonly #site: Site;
  readonly #logins: CountedDays;
  readonly #simulated: Simulated;
  /** How long ago the same day of {@link WEEKS} started. */
  #weeksMs: readonly number[] = [];
  #day: Span = { startMs: 0, endMs: 0 };
  #polledMs = 0;
  #busySinceMs = Infinity;
  readonly #past = new Map<readonly Sums[], readonly DayCounts[]>();
  readonly #minutes = new Map<readonly Sums[], DayCounts>();

  constructor(simulated: Simulated) {
    const { calendar, openingHours } = simulated;
    const description = {
      openingHours,
      capacity: undefined,
      staffedHours: undefined,
      estimate: true,
    };
    this.#simulated = simulated;
    this.#site = new Site(calendar, calendar.zone.name, description);
    this.#logins = new CountedDays(calendar);
  }

  /** Takes what the service shows, and before that, what it showed when counts rose last. */
  poll(atMs: number): void {
    const roseMs = this.#roseMs(this.#simulated.counts.people, atMs - STEP_MS);
    for (const ms of roseMs > this.#polledMs && contains(this.#day, roseMs)
      ? [roseMs, atMs]
      : [atMs]) {
      const { people, logins } = this.#simulated.counts;
      this.#startDay(ms);
      this.#site.counted({ day: this.#day, atMs: ms, minutes: this.#today(people, ms) });
      this.#logins.counted({ day: this.#day, atMs: ms, minutes: this.#today(logins, ms) });
      this.#polledMs = ms;
    }
  }

  #startDay(atMs: number): void {
    const { calendar, counts } = this.#simulated;
    if (contains(this.#day, atMs)) {
      return;
    }
    this.#day = calendar.dayAt(atMs);
    const before = daysBefore(calendar, this.#day);
    const days = before.filter(({ endMs }) => endMs > START_MS);
    for (const [sums, target] of [
      [counts.people, this.#site],
      [counts.logins, this.#logins],
    ] as const) {
      const known = this.#past.get(sums) ?? [];
      const counted = days
        .filter(({ startMs }) => startMs > (known.at(-1)?.day.startMs ?? -Infinity))
        .map((day) => countsOfDay(calendar, day, sums, QUARTER_MS));
      const past = [...known, ...counted].slice(-HISTORY_DAYS);
      this.#past.set(sums, past);
      const lastSeenMs = sums.map((one) => lastCount(one, this.#day.startMs));
      this.#minutes.set(sums, countsOfDay(calendar, this.#day, sums, MINUTE_MS));
      target.pastRead({ ...createPast(calendar, this.#day, past), lastSeenMs });
    }
    this.#weeksMs = WEEKS.map((week) => this.#day.startMs - (before.at(-7 * week)?.startMs ?? 0));
  }

  #today(sums: readonly Sums[], atMs: number): CountsToday {
    const { calendar, lagMs, stepMs } = this.#simulated;
    const all = this.#minutes.get(sums);
    const counts =
      stepMs === MINUTE_MS && all !== undefined
        ? stepsUntil(all, atMs - lagMs)
        : countsOfDay(calendar, this.#day, sums, stepMs, atMs - lagMs);
    const seenMs = this.#seenMs(sums, atMs);
    const lastSeenMs = seenMs < this.#day.startMs ? undefined : seenMs;
    return { counts, atMs, endMs: atMs, lastSeenMs };
  }

  /** Returns the newest minute of some counters that is shown at an instant; -Infinity if there is none. */
  #seenMs(sums: readonly Sums[], atMs: number): number {
    const shownMs = atMs - this.#simulated.lagMs;
    return Math.max(...sums.map((one) => lastCount(one, shownMs) ?? -Infinity));
  }

  /** Returns the poll at which some counters rose last. */
  #roseMs(sums: readonly Sums[], atMs: number): number {
    const shownMs = this.#seenMs(sums, atMs) + MINUTE_MS + this.#simulated.lagMs;
    return Math.ceil(shownMs / STEP_MS) * STEP_MS;
  }

  /** `others` are when each other branch counted last; undefined without branches. */
  metricsAt(atMs: number, others: readonly number[] | undefined, loginMs: number): SiteMetrics {
    const silences = this.#site.silencesOf(this.#devicesAt(atMs));
    return this.#site.metricsAt(atMs, { isCurrent: true, loginMs, others, silences });
  }

  /** Returns the entries that became known within the last hour. */
  arrivedWithinHour(atMs: number): number {
    const { counts, lagMs } = this.#simulated;
    return sumOf(counts.people.slice(0, 1), atMs - lagMs - HOUR_MS, atMs - lagMs);
  }

  /** Whether so many have been usual for an hour, as far as it was polled. */
  isBusy(atMs: number, isBusyNow: boolean): boolean {
    this.#busySinceMs = isBusyNow ? Math.min(this.#busySinceMs, atMs) : Infinity;
    return atMs - this.#busySinceMs >= HOUR_MS;
  }

  isOpenAt(atMs: number): boolean | undefined {
    return this.#site.isOpenAt(atMs);
  }

  /** Returns when anybody was counted last. */
  lastMsAt(atMs: number): number {
    return this.#seenMs(this.#simulated.counts.people, atMs);
  }

  isToday(atMs: number): boolean {
    return contains(this.#day, atMs);
  }

  get polledMs(): number {
    return this.#polledMs;
  }

  /** Returns when somebody logged in last. */
  loginMsAt(atMs: number): number {
    return this.#seenMs(this.#simulated.counts.logins, atMs);
  }

  /** Returns the problems of the customer, if this is its only building. */
  problemsOfCustomerAt(atMs: number): readonly Problem[] {
    const { past, days } = this.#site;
    const { past: ofLogins, today } = this.#logins;
    const logins = past &&
      ofLogins &&
      days.today &&
      today && {
        missed: usualLogins(past, ofLogins, days.today, today),
        lastMs: this.#logins.lastSeenAt(atMs),
      };
    const facts = { refusedMs: undefined, streams: [], unreadableMs: undefined, logins };
    return problemsOfCustomer(facts, atMs, []).problems;
  }

  #devicesAt(atMs: number): readonly SiteDevice[] {
    const { calendar, counts, lagMs } = this.#simulated;
    const { startMs } = calendar.periodAt(atMs);
    const all = sumOf(counts.people, startMs, atMs - lagMs);
    const several = counts.doors.length > 1 ? counts.doors : [];
    return several.flatMap((door, i) => {
      const lastMs = this.#roseMs(door, atMs);
      const share = sumOf(door, startMs, atMs - lagMs) / Math.max(1, all);
      // Others are not silent.
      return atMs - lastMs < LIMITS.silentDeviceOpenMs
        ? []
        : [{ key: String(i), lastMs, untilMs: atMs, people: 0, share, excess: 0 }];
    });
  }

  /** Returns what is usual in a span, by the same time of the four weeks before. */
  #usual(sums: readonly Sums[], fromMs: number, toMs: number): number {
    if (toMs <= fromMs) {
      return 0;
    }
    const weeks = this.#weeksMs
      .map((ms) => sumOf(sums, fromMs - ms, toMs - ms))
      .filter((came) => came > 0);
    const all = weeks.reduce((sum, came) => sum + came, 0);
    return weeks.length < 2 ? all : (all - Math.max(...weeks)) / (weeks.length - 1);
  }

  /**
   * Whether a problem may begin: what is usual is about half of what it needs, or more. Elsewhere the problems need
   * not be computed, which saves most of the time.
   */
  mayChange(
    atMs: number,
    others: readonly number[] | undefined,
    loginMs: number,
    below: { readonly share: number; readonly usual: number },
  ): boolean {
    const { counts } = this.#simulated;
    const { people, logins, doors } = counts;
    const [entries = [], exits = []] = people.map((one) => [one]);
    const [entryMs, exitMs] = [this.#seenMs(entries, atMs), this.#seenMs(exits, atMs)];
    const lastMs = Math.max(entryMs, exitMs);
    const hour = this.#usual(entries, atMs - HOUR_MS, atMs);
    if (this.isOpenAt(atMs) === false && this.isOpenAt(atMs - HOUR_MS) === false) {
      return false;
    }
    const counting = (others ?? []).filter((ms) => atMs - ms < LIMITS.otherBranchesMs);
    const isInUse =
      loginMs - lastMs >= LIMITS.loginLaterMs ||
      (counting.length > 0 && 2 * counting.length >= (others?.length ?? 0));
    const passes = this.#usual(people, lastMs, atMs - HOUR_MS);
    return (
      (isInUse && SLACK + passes >= LIMITS.missedPassesInUse) ||
      (SLACK + passes >= LIMITS.missedPasses && atMs - lastMs >= LIMITS.missedOpenMs) ||
      SLACK + this.#usual(entries, entryMs, exitMs - HOUR_MS) >= LIMITS.missedInDirection ||
      SLACK + this.#usual(exits, exitMs, entryMs - HOUR_MS) >= LIMITS.missedInDirection ||
      SLACK + this.#usual(logins, loginMs, lastMs - HOUR_MS) >= LIMITS.missedLogins ||
      (SLACK + hour >= below.usual && this.arrivedWithinHour(atMs) <= SLACK + below.share * hour) ||
      (doors.length > 1 &&
        doors.some((door) => {
          const seenMs = this.#seenMs(door, atMs);
          const isLong = atMs - seenMs >= LIMITS.silentDeviceOpenMs;
          return isLong && SLACK + this.#usual(door, seenMs, atMs) >= LIMITS.missedAtDevice;
        }))
    );
  }
}

function sumOf(sums: readonly Sums[], fromMs: number, toMs: number): number {
  return sums.reduce((sum, one) => sum + between(one, fromMs, toMs), 0);
}
