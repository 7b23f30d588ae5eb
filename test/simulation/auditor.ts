/**
 * What must never happen, and what must be so in the end. It knows the truth and sees what leaves
 * the exporter, and nothing of how that came about.
 */
import { Temporal } from 'temporal-polyfill';
import type { SimulatedService } from '../../src/simulator/service.ts';
import type { WorldClock } from './clock.ts';
import type { DrawnWorld } from './drawn-world.ts';
import type { Occasion } from './coverage.ts';
import { BreakdownAuditor } from './breakdown-auditor.ts';
import { IncreaseAuditor } from './increase-auditor.ts';
import { Scrape } from './scrape.ts';

/** How a counter is called in the exposition (with `_total` and `_today`), in held counts, and by the truth. */
const COUNTERS = [
  ['library_people_entered', 'people_entered', 'entered', 'people'],
  ['library_people_exited', 'people_exited', 'exited', 'people'],
  ['library_logins', 'logins', 'logins', 'logins'],
] as const;

const LAST_SUCCESS = 'library_poll_last_success_timestamp_seconds';
const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;
const VIOLATIONS_KEPT = 20;
/** What was shown for so long is on the disk. */
const WRITTEN_WITHIN_MS = 11_000;
/** The path over a day's rows costs more than all the rest. */
const OCCUPANCY_EVERY = 8;

/** What was seen of one counter in one epoch. */
interface Seen {
  readonly epochMs: number;
  /** Shown last; lower values are falls. */
  shown: number;
  shownSinceMs: number;
  /** What was shown before that. */
  shownBefore: number;
  held: number;
  /** The most that the service had at any scrape. */
  most: number;
}

export class Auditor {
  readonly violations: string[] = [];
  readonly #world: DrawnWorld;
  readonly #service: SimulatedService;
  readonly #clock: WorldClock;
  readonly #seen = new Map<string, Seen>();
  /** By exporter: what is shown again need not be judged again. */
  readonly #lastTexts = new Map<string, string>();
  readonly #periods = new Map<string, { readonly epochMs: number; readonly dayMs: number }>();
  readonly increases: IncreaseAuditor;
  readonly #breakdowns: BreakdownAuditor;
  readonly occasions = new Set<Occasion>();
  #audits = 0;
  readonly #secret: RegExp;

  constructor(world: DrawnWorld, service: SimulatedService, clock: WorldClock) {
    this.#world = world;
    this.#service = service;
    this.#clock = clock;
    this.increases = new IncreaseAuditor(world, service);
    this.#breakdowns = new BreakdownAuditor({
      world,
      service,
      clock,
      violated: (what) => this.violated(what),
    });
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

  /** After a kill only the marks that were on the disk bind, after a loss of the file none does. */
  killed(exporter: string, disk: 'whole' | 'torn' | 'lost'): void {
    const writtenMs = this.#clock.nowMs() - WRITTEN_WITHIN_MS;
    for (const [series, seen] of this.#seen) {
      if (series.startsWith(exporter)) {
        const written = seen.shownSinceMs <= writtenMs ? seen.shown : seen.shownBefore;
        this.#seen.set(series, { ...seen, shown: disk === 'whole' ? written : 0 });
      }
    }
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
    const scrape = new Scrape(text);
    this.#audits += 1;
    this.#breakdowns.audit(exporter, text, (customer) => epochIn(scrape, customer));
    for (const { library } of this.#service.customers) {
      this.#auditCustomer(exporter, library.name, scrape, aheadMs);
      if (this.#audits % OCCUPANCY_EVERY === 0 && !this.#mayLackRows()) {
        this.#expectOccupancy(exporter, library.name, scrape, false);
      }
    }
  }

  /** Whether an answer may have had fewer rows than the service, or a clock been wrong. */
  #mayLackRows(): boolean {
    const { faultKinds, mishaps } = this.#world;
    return (
      faultKinds.includes('empty') ||
      mishaps.includes('empty answers for a while') ||
      mishaps.includes('clock steps')
    );
  }

  #auditCustomer(exporter: string, customer: string, scrape: Scrape, aheadMs: number): void {
    const epochMs = epochIn(scrape, customer);
    const served = this.#service.served(customer, epochMs);
    const occupancy = scrape.value('library_occupancy_people', customer);
    if (occupancy !== undefined && occupancy < 0) {
      this.violated(`${exporter} shows an occupancy of ${occupancy}`);
    }
    const since = dayStart(this.#clock.nowMs() + aheadMs, this.#world.timezone);
    const sinceDay = this.#service.served(customer, since);
    this.#noteChanges(
      `${exporter} ${customer}`,
      epochMs,
      since,
      scrape.value('library_up', customer, 'people'),
    );
    for (const [name, kind, truth, stream] of COUNTERS) {
      const series = `${exporter} ${name} ${customer}`;
      const today = scrape.value(`${name}_today`, customer) ?? 0;
      if (today > sinceDay[truth] + this.#takenBack(sinceDay[truth])) {
        this.violated(`${series} today is ${today}, and the service has ${sinceDay[truth]}`);
      }
      let seen = this.#seen.get(series);
      if (seen?.epochMs !== epochMs) {
        seen = { epochMs, shown: 0, shownSinceMs: 0, shownBefore: 0, held: 0, most: 0 };
        this.#seen.set(series, seen);
      }
      seen.most = Math.max(seen.most, served[truth]);
      const value = scrape.value(`${name}_total`, customer);
      if (value === undefined) {
        this.occasions.add('no counter at the first scrapes');
        continue;
      }
      const lastSuccessMs = 1000 * (scrape.value(LAST_SUCCESS, customer, stream) ?? NaN);
      // What a fault kept out of one anchor is in the next.
      const { reconcileIntervalMs, intervalMs } = this.#world;
      const readMs = lastSuccessMs - aheadMs - reconcileIntervalMs - 4 * intervalMs;
      if (
        value === 0 &&
        !this.#mayBeEmptyThrice() &&
        this.#service.served(customer, epochMs, readMs)[truth] > 0
      ) {
        this.violated(`${series} is shown as 0`);
      }
      const held = scrape.value('library_held_counts', customer, kind) ?? NaN;
      this.#auditValue(series, value, held, seen);
      this.increases.add(series, {
        customer,
        truth,
        epochMs,
        value,
        atMs: this.#clock.nowMs(),
        aheadMs,
        lastSuccessMs,
      });
    }
  }

  #noteChanges(whose: string, epochMs: number, dayMs: number, up: number | undefined): void {
    const before = this.#periods.get(whose);
    this.#periods.set(whose, { epochMs, dayMs });
    if (before !== undefined && before.dayMs !== dayMs) {
      this.occasions.add(up === 1 ? 'the day changed' : 'the day changed while polls failed');
    }
    if (before !== undefined && before.epochMs !== epochMs) {
      this.occasions.add(up === 1 ? 'the epoch changed' : 'the epoch changed while polls failed');
    }
  }

  #auditValue(series: string, value: number, held: number, seen: Seen): void {
    if (value < seen.shown) {
      this.violated(`${series} falls from ${seen.shown} to ${value}`);
    }
    if (value > seen.most + this.#takenBack(seen.most)) {
      this.violated(`${series} is ${value}, and the service never had more than ${seen.most}`);
    }
    if (!(held >= 0)) {
      this.violated(`${series} holds ${held}`);
    }
    if (!this.#mayTakeBack() && held > 0) {
      this.violated(`${series} holds ${held}, though the service took nothing back`);
    }
    if (held > 0) {
      this.occasions.add('counts were held');
    } else if (seen.held > 0) {
      this.occasions.add('counts were held no more');
    }
    if (value !== seen.shown) {
      seen.shownBefore = seen.shown;
      seen.shownSinceMs = this.#clock.nowMs();
    }
    seen.shown = value;
    seen.held = held;
  }

  /** Whether faults may well make three answers in a row empty, which are then believed. */
  #mayBeEmptyThrice(): boolean {
    const { faultKinds, faultRate, mishaps } = this.#world;
    const share = faultKinds.includes('empty') ? faultRate / faultKinds.length : 0;
    return share > 0.015 || mishaps.includes('empty answers for a while');
  }

  /** Whether a total of the service may fall: by corrections, or for a while by answers that lack rows. */
  #mayTakeBack(): boolean {
    const { conventions, faultKinds, mishaps } = this.#world;
    return (
      conventions.corrections.share > 0 ||
      faultKinds.includes('empty') ||
      mishaps.includes('empty answers for a while')
    );
  }

  /** So much of what a counter shows the service may have taken back since. */
  #takenBack(total: number): number {
    const { share } = this.#world.conventions.corrections;
    return share === 0 ? 0 : Math.ceil(3 + 4 * share * total);
  }

  /**
   * The service has been well for a reconcile interval: every counter less what it holds is the
   * service's total, as it was at some instant between the last anchor and now.
   */
  expectTruth(exporter: string, text: string | undefined): void {
    const scrape = new Scrape(text ?? '');
    this.#breakdowns.expectTruth(exporter, text ?? '', (customer) => epochIn(scrape, customer));
    const { intervalMs } = this.#world;
    for (const { library } of this.#service.customers) {
      const customer = library.name;
      const epochMs = epochIn(scrape, customer);
      for (const [name, kind, truth, stream] of COUNTERS) {
        const series = `${exporter} ${name} ${customer}`;
        if (scrape.value('library_up', customer, stream) !== 1) {
          this.violated(`${exporter} library_up ${customer} ${stream} is not 1 in the end`);
        }
        const value = scrape.value(`${name}_total`, customer);
        const held = scrape.value('library_held_counts', customer, kind);
        const total = (value ?? NaN) - (held ?? NaN);
        const lastSuccessMs = 1000 * (scrape.value(LAST_SUCCESS, customer, stream) ?? NaN);
        const [least, most] = this.#rangeOf(customer, epochMs, truth, lastSuccessMs);
        // That there is nothing yet has to come three times.
        const isNew = this.#clock.nowMs() - epochMs < 5 * intervalMs;
        const mayBeAbsent = value === undefined && isNew && least <= 0;
        if (!(total >= least && total <= most) && !mayBeAbsent) {
          this.violated(`${series} less held is ${total} in the end, and not ${least} to ${most}`);
        }
      }
      this.#expectOccupancy(exporter, customer, scrape, true);
    }
  }

  /** What Prometheus makes of all scrapes is what arrived. */
  expectIncreases(): void {
    this.increases.findings().forEach((finding) => this.violated(finding));
  }

  /** Late and corrected records older than the last minutes are in the next anchor only. */
  #arrivesPromptly(): boolean {
    const { lateness, corrections, windowTime, deviceClocks, resolutionMs } =
      this.#world.conventions;
    return (
      lateness.offlineShare === 0 &&
      lateness.usualMs < 5 * MINUTE_MS &&
      corrections.share === 0 &&
      resolutionMs < MINUTE_MS &&
      (windowTime === 'server' || deviceClocks.aheadMs >= 0) &&
      this.#world.conventions.serviceClockMs >= 0
    );
  }

  /** How long before the end of a good poll what it shows may have been so. */
  #lagMs(): number {
    const { conventions, reconcileIntervalMs, intervalMs, slowestMs } = this.#world;
    const pollMs = 30_000 + 6 * slowestMs;
    if (!this.#arrivesPromptly()) {
      return reconcileIntervalMs + 3 * intervalMs + pollMs;
    }
    // Where totals or minutes take many questions, a poll may take half of its interval.
    const isShort = conventions.forced.above === 'bytes' && conventions.dayFreshness === 'live';
    return isShort ? pollMs : intervalMs + pollMs;
  }

  #rangeOf(
    customer: string,
    epochMs: number,
    kind: 'entered' | 'exited' | 'logins',
    nowMs: number,
  ): readonly [least: number, most: number] {
    const lagMs = this.#lagMs();
    const stepMs = Math.max(1000, lagMs / 60);
    const totals: number[] = [];
    for (let ms = 0; ms <= lagMs; ms += stepMs) {
      totals.push(this.#service.served(customer, epochMs, nowMs - ms)[kind]);
    }
    // A total read at the anchor and what came since are not of one instant: what was taken back in
    // between is in the one, and what came is in the other.
    const { share } = this.#world.conventions.corrections;
    const dayAgo = this.#service.served(customer, epochMs, nowMs - DAY_MS)[kind];
    const takenBack = (2 * share * (Math.max(...totals) - dayAgo) * lagMs) / DAY_MS;
    const slack = share === 0 ? 0 : 3 + Math.ceil(takenBack);
    return [Math.min(...totals) - slack, Math.max(...totals) + slack];
  }

  /**
   * Where keys are written plainly, the occupancy is the floored path over the rows served, at some
   * instant of the last good poll. In the storm it may be unknown; in the end not, unless it is old.
   */
  #expectOccupancy(exporter: string, customer: string, scrape: Scrape, inTheEnd: boolean): void {
    const { conventions, slowestMs, timezone } = this.#world;
    const plain =
      conventions.forced.above === 'bytes' &&
      conventions.windowTime === conventions.keyTime &&
      this.#arrivesPromptly() &&
      conventions.deviceClocks.share === 0 &&
      conventions.serviceClockMs === 0;
    const shown = scrape.value('library_occupancy_people', customer);
    const lastSuccess = scrape.value(LAST_SUCCESS, customer, 'people') ?? NaN;
    const nowMs = this.#clock.nowMs();
    const mayBeAbsent = !inTheEnd || nowMs - 1000 * lastSuccess > 14 * MINUTE_MS;
    if (!plain || (shown === undefined && mayBeAbsent)) {
      return;
    }
    const dayMs = dayStart(nowMs, timezone);
    const possible = new Set<number>();
    for (let ms = 0; ms <= 30_000 + 6 * slowestMs; ms += 1000) {
      possible.add(this.#service.occupancy(customer, dayMs, 1000 * lastSuccess - ms));
    }
    if (shown === undefined || !possible.has(shown)) {
      this.violated(
        `${exporter} library_occupancy_people ${customer} is ${shown}, not ${[...possible].join(' or ')}`,
      );
    }
  }
}

function epochIn(scrape: Scrape, customer: string): number {
  return 1000 * (scrape.value('library_epoch_timestamp_seconds', customer) ?? NaN);
}

/** The last 04:00 in a zone. Not by our own calendar, for that is among what is held against this. */
function dayStart(nowMs: number, timezone: string): number {
  const now = Temporal.Instant.fromEpochMilliseconds(Math.floor(nowMs)).toZonedDateTimeISO(
    timezone,
  );
  const start = now.withPlainTime({ hour: 4 });
  const isBefore = Temporal.ZonedDateTime.compare(start, now) > 0;
  return (isBefore ? start.subtract({ days: 1 }) : start).epochMilliseconds;
}
