/**
 * The series of the customers as bytes, kept ready: each customer is rendered once per change, soon
 * after it and a few at a time, and a scrape costs a copy (DESIGN.md, 5). It knows when figures stop
 * being true, but not how they come about.
 */
import { nextTurn } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { BREAKDOWNS } from '../base/model.ts';
import type { Breakdown } from '../base/model.ts';
import type { CustomerMetrics, MetricsSource } from '../counting/customer-metrics.ts';
import { breakdownFamilies } from './breakdown-families.ts';
import { CustomerLines } from './customer-lines.ts';
import { CUSTOMER_FAMILIES } from './families.ts';
import type { Family } from './family.ts';
import { writeHead } from './format.ts';
import type { Format } from './format.ts';
import { compressStart, packAll, Piece } from './gzip.ts';
import type { CompressedStart } from './gzip.ts';
import { SampleStore } from './sample-store.ts';
import type { ChangedLines } from './sample-store.ts';

export interface Exposition {
  /**
   * The customers from now on, in this order. Whoever is not among them is gone at the next scrape.
   * Which zone, labels and breakdowns a source has is found out here: call it again when that changes.
   */
  setCustomers(sources: readonly MetricsSource[]): void;
  /** The customer's figures are others than before. Cheap; a customer that is not there is no error. */
  changed(customer: string): void;
  /**
   * Renders what is to be rendered at this instant, and lets others run in between: after it, `render`
   * has next to nothing to do.
   */
  freshen(): Promise<void>;
  /** All series as they are at this instant. The same object as before, if nothing changed. */
  render(format: Format): Rendition;
  /**
   * Renders what changes soon after it does, and compresses it if anybody asks for that, until the
   * signal aborts. Without it the scrapes do that work: what they show is the same.
   */
  keepReady(signal: AbortSignal): Promise<void>;
}

/** One state of all series in one format. It never changes: a slow reader reads what it asked for. */
export interface Rendition {
  /** In this order they are the text; families without a series have no head either. */
  readonly parts: readonly Uint8Array[];
  /** Compressed at the first call; however many ask, once. */
  compressed(): Promise<CompressedStart>;
}

export function createExposition({ clock }: { readonly clock: Clock }): Exposition {
  return new CachedExposition(clock);
}

/**
 * How often what has changed is rendered. Both streams of a customer are polled within it, as a rule,
 * and what is polled one after the other stands side by side. What is left to a scrape is less than this.
 */
const KEEP_READY_EVERY_MS = 2_000;
/** For so long nothing else runs. */
const TURN_MS = 3;

class CachedExposition implements Exposition {
  readonly #clock: Clock;
  #families = CUSTOMER_FAMILIES;
  #lines = new CustomerLines([], { infoLabelNames: [] }, 0);
  #store = new SampleStore(0, 0);
  #heads: Readonly<Record<Format, readonly Piece[]>> = headsOf([]);
  readonly #renditions = new Map<Format, Rendition>();
  #compresses = false;
  #sources: readonly MetricsSource[] = [];
  #numberOf: ReadonlyMap<string, number> = new Map();
  /** Numbers of the customers that are to be rendered again. */
  readonly #stale = new Set<number>();
  /** By number of the customer: the rendered lines are true from the one up to the other. */
  #projectedAtMs = new Float64Array(0);
  #validUntilMs = new Float64Array(0);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  setCustomers(sources: readonly MetricsSource[]): void {
    this.#sources = [...sources];
    this.#numberOf = new Map(sources.map((source, number) => [source.customer, number]));
    this.#projectedAtMs = new Float64Array(sources.length);
    this.#validUntilMs = new Float64Array(sources.length);
    const figures = sources.map((source) => source.metricsAt(this.#clock.nowMs()));
    this.#families = [...CUSTOMER_FAMILIES, ...breakdownFamilies(breakdownsOf(figures))];
    this.#heads = headsOf(this.#families);
    const context = { infoLabelNames: labelNamesOf(figures) };
    this.#lines = new CustomerLines(this.#families, context, sources.length);
    this.#store = new SampleStore(this.#families.length, sources.length);
    this.#renditions.clear();
    this.#stale.clear();
    for (const number of sources.keys()) {
      this.#stale.add(number);
    }
  }

  changed(customer: string): void {
    const number = this.#numberOf.get(customer);
    if (number !== undefined) {
      this.#stale.add(number);
    }
  }

  async freshen(): Promise<void> {
    this.#findStale();
    this.#renderStale(TURN_MS);
    while (this.#stale.size > 0) {
      await nextTurn();
      this.#renderStale(TURN_MS);
    }
  }

  render(format: Format): Rendition {
    this.#findStale();
    this.#renderStale(Infinity);
    const rendition = this.#renditions.get(format) ?? this.#renditionOf(this.#parts(format));
    this.#renditions.set(format, rendition);
    return rendition;
  }

  async keepReady(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(KEEP_READY_EVERY_MS, signal).catch(() => {});
      await this.freshen();
      if (this.#compresses) {
        await packAll(this.#store.quiet());
      }
    }
  }

  #findStale(): void {
    const nowMs = this.#clock.nowMs();
    for (const number of this.#sources.keys()) {
      // Also before the instant of projection: the clock may have stepped back over an epoch's start.
      const projectedAtMs = this.#projectedAtMs[number] ?? 0;
      if (nowMs < projectedAtMs || nowMs >= (this.#validUntilMs[number] ?? 0)) {
        this.#stale.add(number);
      }
    }
  }

  /** As many as can be within some milliseconds, at least one. */
  #renderStale(withinMs: number): void {
    if (this.#stale.size === 0) {
      return;
    }
    const nowMs = this.#clock.nowMs();
    const startMs = this.#clock.monotonicMs();
    const changed = new Map<number, ChangedLines>();
    try {
      for (const number of this.#stale) {
        const figures = this.#sources[number]?.metricsAt(nowMs);
        if (figures !== undefined) {
          changed.set(number, this.#lines.write(number, figures));
          this.#projectedAtMs[number] = nowMs;
          this.#validUntilMs[number] = figures.validUntilMs;
        }
        this.#stale.delete(number);
        if (this.#clock.monotonicMs() - startMs >= withinMs) {
          break;
        }
      }
    } finally {
      // Also after a fault of one: the lines of those before it are not written a second time.
      this.#store.update(changed);
      this.#renditions.clear();
    }
  }

  #parts(format: Format): readonly Piece[] {
    return this.#heads[format].flatMap((head, family) => {
      const lines = this.#store.family(family);
      return lines.length === 0 ? [] : [head, ...lines];
    });
  }

  #renditionOf(pieces: readonly Piece[]): Rendition {
    let compressed: Promise<CompressedStart> | undefined;
    return {
      parts: pieces.map(({ plain }) => plain),
      compressed: () => {
        this.#compresses = true;
        compressed ??= compressStart(pieces);
        return compressed;
      },
    };
  }
}

function headsOf(families: readonly Family[]): Readonly<Record<Format, readonly Piece[]>> {
  function heads(format: Format): readonly Piece[] {
    return families.map((family) => new Piece(Buffer.from(writeHead(format, family))));
  }
  return { text: heads('text'), openmetrics: heads('openmetrics') };
}

function labelNamesOf(figures: readonly CustomerMetrics[]): readonly string[] {
  return [...new Set(figures.flatMap(({ labels }) => Object.keys(labels)))].toSorted();
}

function breakdownsOf(figures: readonly CustomerMetrics[]): ReadonlySet<Breakdown> {
  return new Set(
    BREAKDOWNS.filter((breakdown) =>
      figures.some(({ breakdowns }) => breakdowns[breakdown] !== undefined),
    ),
  );
}
