/**
 * The exposition: the customers' series, the exporter's own, and the end.
 *
 * A customer's lines are rendered when it changed or its values expired, and kept. Blocks of customers join
 * them by family, and compress each family for as long as it does not change. This is for speed alone:
 * rendering 10,000 customers takes 400 ms, and compressing their text 70 ms; joining the compressed blocks
 * takes 13 ms; bench/speed/traffic.ts measures scrapes as a whole. zlib does all the work. One gzip member per chunk
 * would be simpler, but curl fails at the second one.
 */
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { nextTurn } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import type { Breakdown } from '../base/model.ts';
import type { MetricsSource } from '../counting/customer-metrics.ts';
import type { ExporterMetrics } from './exporter-metrics.ts';
import { CUSTOMER_FAMILIES, breakdownFamilies } from './families.ts';
import { END_OF, writeHead, writeLabels, writeSample } from './family.ts';
import type { Family, FamilyContext, Format } from './family.ts';

export type Exposition = ReturnType<typeof createExposition>;

/** A block of so many customers is split if they have many branches. */
const MAX_CUSTOMERS_PER_BLOCK = 128;
/** Some five thousand lines, which take 3 ms to join and compress. Larger blocks do more that did not change. */
const MAX_BLOCK_CHARACTERS = 400_000;
/** Rendering these takes 3 ms. Then it yields to the event loop, which a scrape does more rarely: it waits. */
const MAX_TURN_CHARACTERS = 150_000;
const MAX_TURN_CHARACTERS_OF_SCRAPE = 600_000;
const RENDER_INTERVAL_MS = 1_000;
/** A block that changed this recently is about to change again: its customers are polled in turn. */
const SETTLE_MS = 500;
/** Level 6 saves a tenth of the bytes for four times the work. */
const GZIP_LEVEL = 1;
/** Magic number, deflate, no flags, no time, fastest level, unknown system (RFC 1952). */
const GZIP_HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255);

/** Which series a customer has by its configuration. */
export interface ConfiguredSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly breakdowns: readonly Breakdown[];
}

/** The lines of one customer, family by family. */
interface Lines {
  readonly text: string;
  /** Where the lines of each family end in the text. */
  readonly ends: readonly number[];
}

interface Rendered {
  isChanged: boolean;
  /** The values are true from the first instant up to the second. */
  renderedAtMs: number;
  validUntilMs: number;
}

interface Entry extends Rendered {
  readonly source: MetricsSource;
  lines: Lines;
  block?: Block;
}

/** Neighbours in the order of the customers, which is also the order of polls. */
interface Block extends Rendered {
  readonly entries: readonly Entry[];
  /** Monotonic. */
  changedAtMs: number;
  /** By family; empty before the block is first joined. */
  chunks: readonly Chunk[];
  /** Families whose lines have changed since they were joined. */
  readonly stale: Set<number>;
}

const UNRENDERED = { isChanged: true, renderedAtMs: 0, validUntilMs: 0 };
const NO_LINES: Lines = { text: '', ends: [] };

/** Returns the parts of a whole response to a scrape in their order. */
export async function renderScrape(
  exposition: Exposition,
  exporterMetrics: Pick<ExporterMetrics, 'render'>,
  format: Format,
  gzip: boolean,
): Promise<readonly Uint8Array[]> {
  const own = new Chunk((await exporterMetrics.render(format)) + END_OF[format]);
  return join([...(await exposition.scrape(format)), own], gzip);
}

/** Returns the parts of a response with these customers alone, or undefined if one is unknown. */
export function renderCustomers(
  exposition: Exposition,
  customers: readonly string[],
  format: Format,
  gzip: boolean,
): readonly Uint8Array[] | undefined {
  const text = exposition.renderCustomers(customers, format);
  return text === undefined ? undefined : join([new Chunk(text + END_OF[format])], gzip);
}

function join(chunks: readonly Chunk[], gzip: boolean): readonly Uint8Array[] {
  return gzip ? [joinGzip(chunks)] : chunks.map(({ plain }) => plain);
}

/** Returns the customers' metrics. */
export function createExposition({ clock }: { readonly clock: Clock }) {
  let families: readonly Family[] = [];
  let heads: Readonly<Record<Format, readonly Chunk[]>> = { text: [], openmetrics: [] };
  let context: FamilyContext = { infoLabelNames: [] };
  let blocks: Block[] = [];
  let entryOf: ReadonlyMap<string, Entry> = new Map();

  function linesAt(source: MetricsSource, nowMs: number): Lines & { validUntilMs: number } {
    const metrics = source.metricsAt(nowMs);
    const customer = writeLabels(['customer', metrics.customer]);
    let text = '';
    const ends = families.map((family) => {
      for (const { labels, value } of family.samples(metrics, context)) {
        text += writeSample(family.name, labels === '' ? customer : `${customer},${labels}`, value);
      }
      return text.length;
    });
    return { text, ends, validUntilMs: metrics.validUntilMs };
  }

  function isDue(block: Block, untilMs: number): boolean {
    const { isChanged, changedAtMs } = block;
    return (isChanged && changedAtMs <= untilMs) || hasExpired(block, clock.nowMs());
  }

  /** Renders an entry, and marks what has changed with it in its block. */
  function renderEntry(entry: Entry, { stale }: Block): void {
    const before = entry.lines;
    const nowMs = clock.nowMs();
    const { validUntilMs, ...lines } = linesAt(entry.source, nowMs);
    Object.assign(entry, { isChanged: false, renderedAtMs: nowMs, validUntilMs, lines });
    families.forEach((_, family) => {
      if (linesOf(before, family) !== linesOf(lines, family)) {
        stale.add(family);
      }
    });
  }

  function joinBlock(block: Block): void {
    const { entries, chunks, stale } = block;
    block.isChanged = entries.some(({ isChanged }) => isChanged);
    block.renderedAtMs = Math.max(...entries.map(({ renderedAtMs }) => renderedAtMs));
    block.validUntilMs = Math.min(...entries.map(({ validUntilMs }) => validUntilMs));
    block.chunks = families.map((_, family) => {
      const before = stale.has(family) ? undefined : chunks[family];
      return before ?? new Chunk(entries.map(({ lines }) => linesOf(lines, family)).join(''));
    });
    stale.clear();
    block.chunks.forEach((chunk) => chunk.deflated());
  }

  /**
   * Renders, joins and compresses the blocks that changed up to an instant, or whose values have expired. Yields
   * when other work should have a turn; another call may go on meanwhile.
   */
  function* steps(untilMs: number, maxCharacters: number): Generator<void> {
    const current = blocks;
    let characters = 0;
    for (let i = 0; i < current.length; i += 1) {
      const block = current[i];
      if (block === undefined || !isDue(block, untilMs)) {
        continue;
      }
      for (const entry of block.entries.filter((one) => isPending(one, clock.nowMs()))) {
        renderEntry(entry, block);
        characters += entry.lines.text.length;
        if (characters > maxCharacters) {
          characters = 0;
          yield;
        }
      }
      const size = block.entries.reduce((sum, { lines }) => sum + lines.text.length, 0);
      if (size > MAX_BLOCK_CHARACTERS && block.entries.length > 1 && current[i] === block) {
        const middle = Math.ceil(block.entries.length / 2);
        const halves = [block.entries.slice(0, middle), block.entries.slice(middle)];
        current.splice(i, 1, ...halves.map(createBlock));
        i -= 1;
      } else {
        joinBlock(block);
        // Takes half of the time.
        characters += size / 2;
      }
    }
  }

  /** Renders what has changed, yielding to the event loop in between. */
  async function renderPending(
    untilMs = Infinity,
    maxCharacters = MAX_TURN_CHARACTERS_OF_SCRAPE,
  ): Promise<void> {
    for (const _ of steps(untilMs, maxCharacters)) {
      await nextTurn();
    }
  }

  /** All series of the customers at this instant, family by family; without later changes than `untilMs`. */
  function render(format: Format, untilMs = Infinity): readonly Chunk[] {
    Array.from(steps(untilMs, Infinity));
    return heads[format].flatMap((head, family) => {
      const chunks = blocks.flatMap((block) => block.chunks[family] ?? []);
      const lines = chunks.filter(({ plain }) => plain.length > 0);
      return lines.length === 0 ? [] : [head, ...lines];
    });
  }

  return {
    /**
     * Replaces all customers; call it again when a customer's labels or breakdowns change. A customer
     * that is not among them is gone at the next scrape. Which series they have is told apart, because
     * the metrics of 10,000 customers take long.
     */
    setCustomers(sources: readonly MetricsSource[], configured: readonly ConfiguredSeries[]): void {
      const breakdowns = new Set(configured.flatMap((one) => one.breakdowns));
      const labelNames = new Set(configured.flatMap(({ labels }) => Object.keys(labels)));
      families = [...CUSTOMER_FAMILIES, ...breakdownFamilies(breakdowns)];
      heads = {
        text: families.map((family) => new Chunk(writeHead('text', family))),
        openmetrics: families.map((family) => new Chunk(writeHead('openmetrics', family))),
      };
      context = { infoLabelNames: [...labelNames].toSorted() };
      const entries = sources.map((source): Entry => ({ ...UNRENDERED, source, lines: NO_LINES }));
      const count = Math.ceil(entries.length / MAX_CUSTOMERS_PER_BLOCK);
      blocks = Array.from({ length: count }, (_, i) =>
        createBlock(entries.slice(i * MAX_CUSTOMERS_PER_BLOCK, (i + 1) * MAX_CUSTOMERS_PER_BLOCK)),
      );
      entryOf = new Map(entries.map((entry) => [entry.source.customer, entry]));
    },

    /** Marks a customer's values as changed. Cheap; an unknown customer is ignored. */
    changed(customer: string): void {
      const entry = entryOf.get(customer);
      if (entry?.block !== undefined) {
        entry.isChanged = true;
        entry.block.isChanged = true;
        entry.block.changedAtMs = clock.monotonicMs();
      }
    },

    render,
    /**
     * All series of the customers, family by family, with what had changed before the call. What changes
     * meanwhile is not rendered again: that would hold the event loop.
     */
    async scrape(format: Format): Promise<readonly Chunk[]> {
      const startMs = clock.monotonicMs();
      await renderPending();
      return render(format, startMs);
    },

    /** All series of these customers, each once, at this instant; undefined if one is unknown. */
    renderCustomers(names: readonly string[], format: Format): string | undefined {
      const nowMs = clock.nowMs();
      const customers: Lines[] = [];
      for (const name of new Set(names)) {
        const entry = entryOf.get(name);
        if (entry === undefined) {
          return undefined;
        }
        customers.push(isPending(entry, nowMs) ? linesAt(entry.source, nowMs) : entry.lines);
      }
      const texts = families.map((head, family) => {
        const lines = customers.map((one) => linesOf(one, family)).join('');
        return lines === '' ? '' : writeHead(format, head) + lines;
      });
      return texts.join('');
    },

    /** Renders what has settled until the signal aborts, so that scrapes are fast. */
    async keepRendered(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await renderPending(clock.monotonicMs() - SETTLE_MS, MAX_TURN_CHARACTERS);
        await clock.sleep(RENDER_INTERVAL_MS, signal).catch(() => {});
      }
    },
  };
}

function isPending(rendered: Rendered, nowMs: number): boolean {
  return rendered.isChanged || hasExpired(rendered, nowMs);
}

/** Also if the clock stepped back, perhaps over the start of a counting period. */
function hasExpired({ renderedAtMs, validUntilMs }: Rendered, nowMs: number): boolean {
  return nowMs < renderedAtMs || nowMs >= validUntilMs;
}

function linesOf({ text, ends }: Lines, family: number): string {
  return text.slice(ends[family - 1] ?? 0, ends[family]);
}

function createBlock(entries: readonly Entry[]): Block {
  const stale = new Set<number>();
  const block = { ...UNRENDERED, entries, changedAtMs: -Infinity, chunks: [], stale };
  entries.forEach((entry) => (entry.block = block));
  return block;
}

const encoder = new TextEncoder();

/** A text that never changes. */
class Chunk {
  readonly plain: Uint8Array;
  #deflated: Uint8Array | undefined;

  constructor(text: string) {
    // Not Buffer.from: that gives a slice of 64 KiB, all of which stay in memory with it.
    this.plain = encoder.encode(text);
  }

  /** A sync flush ends it at a whole byte, so that another chunk can follow (RFC 1951). */
  deflated(): Uint8Array {
    this.#deflated ??= deflate(this.plain, constants.Z_SYNC_FLUSH);
    return this.#deflated;
  }
}

/** Returns the gzip stream of the chunks one after the other. */
function joinGzip(chunks: readonly Chunk[]): Uint8Array {
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(
    chunks.reduce((crc, { plain }) => crc32(plain, crc), 0),
    0,
  );
  trailer.writeUInt32LE(chunks.reduce((sum, { plain }) => sum + plain.length, 0) % 2 ** 32, 4);
  const end = deflate(new Uint8Array(0), constants.Z_FINISH);
  return Buffer.concat([GZIP_HEADER, ...chunks.map((chunk) => chunk.deflated()), end, trailer]);
}

function deflate(plain: Uint8Array, finishFlush: number): Uint8Array {
  // Copied: the result is a view of a whole output buffer, which would stay in memory.
  return new Uint8Array(deflateRawSync(plain, { level: GZIP_LEVEL, finishFlush }));
}
