/**
 * The series of the customers as bytes, kept ready: each customer is rendered once per change, and a
 * scrape of what did not change costs a copy (DESIGN.md, 5). It knows when figures stop being true,
 * but not how they come about.
 */
import type { Clock } from '../base/clock.ts';
import { BREAKDOWNS } from '../base/nouns.ts';
import type { Breakdown } from '../base/nouns.ts';
import type { CustomerFigures, FiguresSource } from '../counting/figures.ts';
import { breakdownFamilies } from './breakdown-families.ts';
import { CUSTOMER_FAMILIES } from './families.ts';
import type { Family, FamilyContext } from './families.ts';
import { writeHead, writeLabel, writeSample } from './format.ts';
import type { Format } from './format.ts';
import { compressStart } from './gzip.ts';
import type { CompressedStart } from './gzip.ts';
import { SampleStore } from './sample-store.ts';

export interface Exposition {
  /**
   * The customers from now on, in this order. Whoever is not among them is gone at the next scrape.
   * Which labels and breakdowns a source has is found out here: call it again when that changes.
   */
  setCustomers(sources: readonly FiguresSource[]): void;
  /** The customer's figures are others than before. Cheap; a customer that is not there is no error. */
  changed(customer: string): void;
  /** All series as they are at this instant. The same object as before, if nothing changed. */
  render(format: Format): Rendition;
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

class CachedExposition implements Exposition {
  readonly #clock: Clock;
  #families = CUSTOMER_FAMILIES;
  #store = new SampleStore(CUSTOMER_FAMILIES.length);
  readonly #renditions = new Map<Format, Rendition>();
  #sources: readonly FiguresSource[] = [];
  #numberOf: ReadonlyMap<string, number> = new Map();
  #infoLabelNames: readonly string[] = [];
  /** Numbers of the customers that are to be rendered again. */
  readonly #stale = new Set<number>();
  /** By number of the customer: the rendered lines are true from the one up to the other. */
  #projectedAtMs = new Float64Array(0);
  #validUntilMs = new Float64Array(0);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  setCustomers(sources: readonly FiguresSource[]): void {
    this.#sources = [...sources];
    this.#numberOf = new Map(sources.map((source, number) => [source.customer, number]));
    this.#projectedAtMs = new Float64Array(sources.length);
    this.#validUntilMs = new Float64Array(sources.length);
    const figures = sources.map((source) => source.figuresAt(this.#clock.nowMs()));
    this.#families = [...CUSTOMER_FAMILIES, ...breakdownFamilies(breakdownsOf(figures))];
    this.#store = new SampleStore(this.#families.length);
    this.#store.reset(sources.length);
    this.#renditions.clear();
    this.#infoLabelNames = labelNamesOf(figures);
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

  render(format: Format): Rendition {
    this.#refresh(this.#clock.nowMs());
    const rendition = this.#renditions.get(format) ?? renditionOf(this.#parts(format));
    this.#renditions.set(format, rendition);
    return rendition;
  }

  #refresh(nowMs: number): void {
    for (const number of this.#sources.keys()) {
      // Also before the instant of projection: the clock may have stepped back over an epoch's start.
      const projectedAtMs = this.#projectedAtMs[number] ?? 0;
      if (nowMs < projectedAtMs || nowMs >= (this.#validUntilMs[number] ?? 0)) {
        this.#stale.add(number);
      }
    }
    if (this.#stale.size === 0) {
      return;
    }
    const changed = new Map<number, readonly string[]>();
    for (const number of this.#stale) {
      const figures = this.#sources[number]?.figuresAt(nowMs);
      if (figures !== undefined) {
        const context = { infoLabelNames: this.#infoLabelNames };
        changed.set(number, linesOf(this.#families, figures, context));
        this.#projectedAtMs[number] = nowMs;
        this.#validUntilMs[number] = figures.validUntilMs;
      }
    }
    this.#store.update(changed);
    this.#stale.clear();
    this.#renditions.clear();
  }

  #parts(format: Format): readonly Uint8Array[] {
    return this.#families.flatMap((family, number) => {
      const lines = this.#store.family(number);
      return lines.length === 0 ? [] : [Buffer.from(writeHead(format, family)), lines];
    });
  }
}

/** One text for each family, empty where nothing is known. */
function linesOf(
  families: readonly Family[],
  figures: CustomerFigures,
  context: FamilyContext,
): readonly string[] {
  const customer = writeLabel(['customer', figures.customer]);
  return families.map(({ name, samples }) => {
    let lines = '';
    for (const { labels, value } of samples(figures, context)) {
      lines += writeSample(name, [customer, ...labels.map(writeLabel)].join(','), value);
    }
    return lines;
  });
}

function labelNamesOf(figures: readonly CustomerFigures[]): readonly string[] {
  return [...new Set(figures.flatMap(({ labels }) => Object.keys(labels)))].toSorted();
}

function breakdownsOf(figures: readonly CustomerFigures[]): ReadonlySet<Breakdown> {
  return new Set(
    BREAKDOWNS.filter((breakdown) =>
      figures.some(({ breakdowns }) => breakdowns[breakdown] !== undefined),
    ),
  );
}

function renditionOf(parts: readonly Uint8Array[]): Rendition {
  let compressed: Promise<CompressedStart> | undefined;
  return {
    parts,
    compressed() {
      compressed ??= compressStart(Buffer.concat(parts));
      return compressed;
    },
  };
}
