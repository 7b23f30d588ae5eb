/**
 * Plays a drawn world through: faults and mishaps first, with every scrape held against what must
 * never happen; then calm, after which the counters must be the service's totals.
 */
import { seededRandom } from '../../src/base/random.ts';
import type { Random } from '../../src/base/random.ts';
import type { Logger } from '../../src/base/log.ts';
import { createFaults } from '../../src/simulator/faults.ts';
import type { FaultKind, Faults } from '../../src/simulator/faults.ts';
import { pick } from '../../src/simulator/chance.ts';
import type { SimulatedService } from '../../src/simulator/service.ts';
import { configOf } from '../support/exporter-process.ts';
import { Auditor } from './auditor.ts';
import { WorldClock } from './clock.ts';
import type { ProcessClock } from './clock.ts';
import type { Occasion } from './coverage.ts';
import { DoubtAuditor } from './doubt-auditor.ts';
import { serviceOf } from './drawn-service.ts';
import { drawWorld } from './drawn-world.ts';
import type { DrawnWorld, MishapKind } from './drawn-world.ts';
import { SimulatedExporter } from './exporter.ts';
import type { ExporterOptions } from './exporter.ts';
import { befall } from './mishaps.ts';
import type { Stage } from './mishaps.ts';
import { Network } from './network.ts';

export interface Played {
  readonly world: DrawnWorld;
  /** In words; none is the only good number. */
  readonly violations: readonly string[];
  /** What happened last, the newest at the end. */
  readonly events: readonly string[];
  readonly customerDays: number;
  readonly polls: number;
  readonly requests: number;
  readonly scrapes: number;
  readonly faults: ReadonlyMap<FaultKind, number>;
  readonly mishaps: ReadonlyMap<MishapKind, number>;
  readonly occasions: ReadonlySet<Occasion>;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** What the token endpoint refused is asked again after a quarter of an hour at the latest. */
const LONGEST_PAUSE_MS = 16 * MINUTE_MS;
const EVENTS_KEPT = 20;
/** A mishap comes after so many waits at most: ends of requests, of pauses, of intervals. */
const MOST_WAITS = 40;

export async function play(seed: number): Promise<Played> {
  return playWorld(drawWorld(seed));
}

/** `watch` is told of every scrape, also of one that Prometheus missed, then without a text. */
export async function playWorld(world: DrawnWorld, watch: Watch = () => {}): Promise<Played> {
  return new Play(world, watch).run();
}

export type Watch = (scrape: {
  readonly exporter: number;
  readonly text: string | undefined;
  readonly atMs: number;
  readonly service: SimulatedService;
}) => void;

class Play {
  readonly #world: DrawnWorld;
  readonly #watch: Watch;
  readonly #random: Random;
  readonly #clock: WorldClock;
  readonly #service: SimulatedService;
  readonly #faults: Faults;
  readonly #network: Network;
  readonly #exporters: readonly SimulatedExporter[];
  readonly #auditor: Auditor;
  readonly #events: string[] = [];
  readonly #stage: Stage;
  readonly #mishaps = new Map<MishapKind, number>();
  #polls = 0;
  #scrapes = 0;

  constructor(world: DrawnWorld, watch: Watch) {
    this.#world = world;
    this.#watch = watch;
    this.#random = seededRandom(world.seed ^ 0x5eed);
    this.#clock = new WorldClock(world.startMs);
    this.#service = serviceOf(world, this.#clock);
    this.#faults = createFaults({ random: this.#random });
    const { intervalMs, reconcileIntervalMs, breakdownIntervalMs, breakdowns } = world;
    const config = configOf(
      this.#service,
      { intervalMs, reconcileIntervalMs, breakdownIntervalMs },
      { streams: ['people', 'logins'], breakdowns },
    );
    this.#auditor = new Auditor(world, this.#service, this.#clock);
    this.#network = new Network({
      service: this.#service,
      faults: this.#faults,
      random: this.#random,
      timeoutMs: config.service.timeoutMs,
      slowestMs: world.slowestMs,
      violated: (what) => this.#auditor.violated(what),
    });
    this.#exporters = Array.from(
      { length: world.exporters },
      (_, i) =>
        new SimulatedExporter({
          world: this.#clock,
          random: this.#random,
          connect: (clock) => this.#connect(`exporter ${i}`, clock),
          log: this.#log(),
        }),
    );
    this.#stage = {
      world,
      random: this.#random,
      service: this.#service,
      faults: this.#faults,
      exporters: this.#exporters,
      auditor: this.#auditor,
      config,
      step: (ms) => this.#step(ms),
    };
  }

  async run(): Promise<Played> {
    const { world } = this;
    this.#exporters.forEach((exporter) => exporter.start(this.#stage.config));
    const stormEndMs = world.startMs + world.days * DAY_MS;
    await this.#storm(stormEndMs);
    await this.#calm();
    return {
      world,
      violations: this.#auditor.violations,
      events: this.#events,
      customerDays: ((this.#clock.nowMs() - world.startMs) / DAY_MS) * world.visitsPerDay.length,
      polls: this.#polls,
      requests: this.#network.requests,
      scrapes: this.#scrapes,
      faults: this.#faults.counts,
      mishaps: this.#mishaps,
      occasions: this.#auditor.occasions,
    };
  }

  get world(): DrawnWorld {
    return this.#world;
  }

  #connect(exporter: string, clock: ProcessClock): ReturnType<ExporterOptions['connect']> {
    const doubt = new DoubtAuditor(this.#world, (what) => this.#auditor.violated(what));
    return {
      exchange: this.#network.exchangeOf(clock, doubt),
      pollEnded: (stream, tookSeconds, isGood) => {
        this.#polls += 1;
        if (isGood) {
          this.#auditor.polls.ended(exporter, stream, clock.nowMs(), 1000 * tookSeconds);
        }
        doubt.pollEnded(stream, isGood);
      },
    };
  }

  async #storm(endMs: number): Promise<void> {
    const { faultRate, faultKinds, mishaps, mishapsPerHour, scrapeIntervalMs } = this.#world;
    if (faultKinds.length > 0) {
      this.#faults.set({ rate: faultRate, kinds: faultKinds });
    }
    while (this.#clock.nowMs() < endMs) {
      const hours = scrapeIntervalMs / HOUR_MS;
      const nextMs = this.#clock.nowMs() + scrapeIntervalMs * (0.9 + 0.2 * this.#random.next());
      if (mishaps.length > 0 && this.#random.next() < mishapsPerHour * hours) {
        // In the middle of whatever is under way.
        await this.#clock.runSome(this.#random.next() * MOST_WAITS, nextMs);
        const kind = pick(this.#random, mishaps);
        this.#mishaps.set(kind, (this.#mishaps.get(kind) ?? 0) + 1);
        this.#tell(kind);
        await befall(kind, this.#stage);
      }
      await this.#clock.runUntil(Math.max(nextMs, this.#clock.nowMs()));
      this.#scrape(this.#random.next() < 0.03);
    }
  }

  /** Faults and mishaps stop; after the longest pause and one reconcile interval all must be well. */
  async #calm(): Promise<void> {
    this.#faults.clear();
    this.#service.customers.forEach(({ library }) => this.#service.restore(library.name));
    for (const exporter of this.#exporters) {
      if (exporter.clock === undefined) {
        exporter.start(this.#stage.config);
      } else {
        exporter.clock.aheadMs = 0;
      }
    }
    const { reconcileIntervalMs, breakdownIntervalMs, intervalMs } = this.#world;
    const longestMs = Math.max(reconcileIntervalMs + 4 * intervalMs, 4 * breakdownIntervalMs);
    const settledMs = LONGEST_PAUSE_MS + longestMs;
    for (let ms = 0; ms < settledMs; ms += intervalMs) {
      await this.#step(intervalMs);
      this.#scrape();
    }
    this.#exporters.forEach((exporter, i) => {
      this.#auditor.expectTruth(`exporter ${i}`, exporter.scrape());
    });
    this.#auditor.expectIncreases();
  }

  async #step(ms: number): Promise<void> {
    await this.#clock.runUntil(this.#clock.nowMs() + ms);
  }

  #scrape(isMissed = false): void {
    this.#exporters.forEach((exporter, i) => {
      const text = isMissed ? undefined : exporter.scrape();
      this.#scrapes += isMissed ? 0 : 1;
      this.#auditor.audit(`exporter ${i}`, text, exporter.clock?.aheadMs ?? 0);
      this.#watch({ exporter: i, text, atMs: this.#clock.nowMs(), service: this.#service });
    });
  }

  #tell(what: string): void {
    this.#events.push(`${new Date(this.#clock.nowMs()).toISOString()} ${what}`);
    if (this.#events.length > EVENTS_KEPT) {
      this.#events.shift();
    }
  }

  /** What the exporter logs is part of the story, and must hold no secret. */
  #log(): Logger {
    const write: Logger['info'] = (message, fields) => {
      const line = `${message} ${JSON.stringify(fields ?? {})}`;
      this.#auditor.expectNoSecret(line);
      this.#tell(line);
    };
    return { debug() {}, info: write, warn: write, error: write };
  }
}
