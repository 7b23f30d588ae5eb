/**
 * Worlds drawn from a seed: every switch of the simulator, records that come days late, corrections,
 * failed polls, restarts, changes of the day and of the month. At every scrape each counter less what
 * it holds is what the service had when the newest good poll ended, and no counter falls.
 */
import { expect, test } from 'vitest';
import { BREAKDOWNS } from '../../src/base/model.ts';
import type { Breakdown } from '../../src/base/model.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Random } from '../../src/base/random.ts';
import { Calendar } from '../../src/counting/calendar.ts';
import { Zone } from '../../src/counting/zone.ts';
import { drawConventions } from '../../src/simulator/conventions.ts';
import { drawLibrary } from '../../src/simulator/libraries.ts';
import { pick } from '../../src/simulator/chance.ts';
import { createSimulatedService } from '../../src/simulator/service.ts';
import type { SimulatedService } from '../../src/simulator/service.ts';
import type { Exposition, Labels } from '../acceptance/exposition.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { MINUTE_MS, Rig } from './breakdown-fixture.ts';
import { answerable } from '../support/answerable.ts';

const SEEDS = 8;
const HOUR_MS = 60 * MINUTE_MS;
const ZONES = ['Europe/Copenhagen', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Auckland'];
/** Before a change of the month, before a change of the clock, and a plain week. */
const STARTS = [Date.UTC(2026, 9, 31, 2), Date.UTC(2026, 9, 24, 12), Date.UTC(2026, 10, 17, 9)];
const BRANCHES = [
  { id: 101, name: 'Main Library' },
  { id: 102, name: 'West "Branch"' },
  { id: 20, name: 'Harbour\\Branch' },
];
const COUNTERS = [
  ['people_entered', 'entered'],
  ['people_exited', 'exited'],
] as const;

class Drawn {
  readonly violations: string[] = [];
  readonly #random: Random;
  readonly #clock: VirtualClock;
  readonly #service: SimulatedService;
  readonly #calendar: Calendar;
  readonly #rig: Rig;
  /** By epoch and series, the value shown last. */
  readonly #shown = new Map<string, number>();
  #checked = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    const timezone = pick(this.#random, ZONES);
    const hours = Math.floor(this.#random.next() * 6);
    this.#clock = new VirtualClock(pick(this.#random, STARTS) + hours * HOUR_MS);
    this.#calendar = new Calendar(new Zone(timezone), { hour: 4, minute: 0 });
    const visitsPerDay = pick(this.#random, [0.5, 30, 300]);
    const library = drawLibrary(seed, 1_001, {
      name: 'lone',
      timezone,
      branches: BRANCHES,
      visitsPerDay,
    });
    this.#service = createSimulatedService({
      seed,
      conventions: answerable(drawConventions(this.#random)),
      clock: this.#clock,
      customers: [{ library, clientId: 'lone-api', clientSecret: 'open sesame' }],
    });
    this.#rig = new Rig({ clock: this.#clock, service: this.#service });
  }

  async play(): Promise<number> {
    const faults = pick(this.#random, [0, 0.05, 0.3]);
    this.#rig.distort = (body) => (this.#random.next() < faults ? body.slice(0, -2) : body);
    this.#rig.start();
    for (let i = 0; i < 2 * 96; i += 1) {
      if (this.#random.next() < 0.03) {
        await this.#rig.stop();
        this.#rig.start();
      }
      await this.#clock.advance(15 * MINUTE_MS * (0.5 + this.#random.next()));
      BREAKDOWNS.forEach((breakdown) => this.#audit(this.#rig.scrape(), breakdown));
    }
    this.#rig.distort = (body) => body;
    // A day or a month may have begun, of which nothing is not believed at once.
    await this.#clock.advance(20 * MINUTE_MS);
    BREAKDOWNS.forEach((breakdown) => this.#expectAll(this.#rig.scrape(), breakdown));
    await this.#rig.stop();
    return this.#checked;
  }

  #audit(exposition: Exposition, breakdown: Breakdown): void {
    const stream = { customer: 'lone', stream: breakdown };
    const polled = exposition.value('library_poll_last_success_timestamp_seconds', stream);
    if (polled === undefined) {
      return;
    }
    const periodMs = periodOf(exposition);
    const total = this.#truth(breakdown, periodMs, 1000 * polled);
    const { startMs: dayMs } = this.#calendar.dayAt(this.#clock.nowMs());
    const today = this.#truth(breakdown, dayMs, 1000 * polled);
    for (const [kind, side] of COUNTERS) {
      for (const { labels, value } of exposition.all(`library_${breakdown}_${kind}_total`)) {
        const held = exposition.value(`library_${breakdown}_counter_excess`, {
          ...labels,
          counter: kind,
        });
        const truth = total.get(idOf(labels, breakdown))?.[side] ?? 0;
        this.#expect(value - (held ?? NaN), truth, `${breakdown} ${kind} less held`);
        this.#expectNoFall(`${periodMs} ${kind} ${JSON.stringify(labels)}`, value);
      }
      for (const { labels, value } of exposition.all(`library_${breakdown}_${kind}_today`)) {
        const truth = today.get(idOf(labels, breakdown))?.[side] ?? 0;
        this.#expect(value, truth, `${breakdown} ${kind} today`);
      }
    }
  }

  #expectAll(exposition: Exposition, breakdown: Breakdown): void {
    this.#audit(exposition, breakdown);
    const beforePollMs = this.#clock.nowMs() - 5 * MINUTE_MS;
    const truth = this.#truth(breakdown, periodOf(exposition), beforePollMs);
    const shown = exposition.all(`library_${breakdown}_people_entered_total`);
    const ids = new Set(shown.map(({ labels }) => idOf(labels, breakdown)));
    const absent = [...truth.keys()].filter((id) => !ids.has(id));
    this.#expect(absent.length, 0, `${breakdown} absent in the end: ${absent.join()}`);
  }

  #truth(breakdown: Breakdown, fromMs: number, nowMs: number) {
    return this.#service.breakdownTotals('lone', breakdown, fromMs, nowMs);
  }

  #expect(shown: number, truth: number, what: string): void {
    this.#checked += 1;
    if (shown !== truth) {
      const at = new Date(this.#clock.nowMs()).toISOString();
      this.violations.push(`${at} ${what}: ${shown}, and it is ${truth}`);
    }
  }

  #expectNoFall(series: string, value: number): void {
    const before = this.#shown.get(series) ?? 0;
    this.#shown.set(series, value);
    if (value < before) {
      this.violations.push(`${series} falls from ${before} to ${value}`);
    }
  }
}

function periodOf(exposition: Exposition): number {
  return (
    1000 *
    (exposition.value('library_counter_start_timestamp_seconds', { customer: 'lone' }) ?? NaN)
  );
}

/** Whether the service writes keys as numbers, as text or with names, the number is at the end. */
function idOf(labels: Labels, breakdown: Breakdown): number {
  return Number(/\d+$/.exec(labels[breakdown] ?? '')?.[0]);
}

test.each(Array.from({ length: SEEDS }, (_, i) => i + 1))(
  'branch, client and device are the truth in the drawn world %i',
  { timeout: 120_000 },
  async (seed) => {
    const drawn = new Drawn(seed);
    const checked = await drawn.play();
    expect(drawn.violations.slice(0, 5)).toEqual([]);
    expect(checked).toBeGreaterThan(100);
  },
);
