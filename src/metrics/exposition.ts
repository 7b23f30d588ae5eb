/**
 * The exposition: the customers' series, the exporter's own, and the end.
 *
 * The customers' text is cached in blocks of customers. A block is rendered again, as a whole, when
 * one of its customers changed or its values expired. This is for speed alone: rendering 10,000
 * customers takes 150 ms, joining their blocks 2 ms (bench/scrape.ts).
 *
 * So is compressing each family of a block once for as long as it does not change: compressing the whole
 * text at every scrape takes 70 ms at 280,000 series, with compressed chunks the scrape takes 13 ms. zlib does
 * all the work. One gzip member per chunk would be simpler, but curl fails at the second one.
 */
import { constants, crc32, deflateRawSync } from 'node:zlib';
import { nextTurn } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import type { Breakdown } from '../base/model.ts';
import type { CustomerMetrics, MetricsSource } from '../counting/customer-metrics.ts';
import type { ExporterMetrics } from './exporter-metrics.ts';
import { CUSTOMER_FAMILIES, breakdownFamilies } from './families.ts';
import { END_OF, stemOf, writeHead, writeLabels, writeSample } from './family.ts';
import type { Family, FamilyContext, Format } from './family.ts';

export type Exposition = ReturnType<typeof createExposition>;

/** Takes 3 ms to render and compress. Larger blocks render more that did not change. */
const CUSTOMERS_PER_BLOCK = 128;
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

/** Neighbours in the order of the customers, which is also the order of polls. */
interface Block {
  readonly sources: readonly MetricsSource[];
  isChanged: boolean;
  /** Monotonic. */
  changedAtMs: number;
  /** The values are true from the first instant up to the second. */
  renderedAtMs: number;
  validUntilMs: number;
  /** Lines of the block's customers by family. */
  chunks: readonly Readonly<Record<Format, Chunk>>[];
}

/** Returns the parts of a whole response to a scrape in their order. */
export async function renderScrape(
  exposition: Exposition,
  exporterMetrics: Pick<ExporterMetrics, 'render'>,
  format: Format,
  gzip: boolean,
): Promise<readonly Uint8Array[]> {
  await exposition.renderPending();
  const own = new Chunk((await exporterMetrics.render(format)) + END_OF[format]);
  return join([...exposition.render(format), own], gzip);
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

/**
 * Returns the customers' metrics. `openMetricsCreated` adds `_created` in OpenMetrics: the period's start.
 */
export function createExposition({
  clock,
  openMetricsCreated = false,
}: {
  readonly clock: Clock;
  readonly openMetricsCreated?: boolean;
}) {
  let families: readonly Family[] = [];
  let heads: Readonly<Record<Format, readonly Chunk[]>> = { text: [], openmetrics: [] };
  let context: FamilyContext = { infoLabelNames: [] };
  let blocks: readonly Block[] = [];
  let blockOf: ReadonlyMap<string, Block> = new Map();

  function isPending({ isChanged, renderedAtMs, validUntilMs }: Block): boolean {
    const nowMs = clock.nowMs();
    // Also if the clock stepped back, perhaps over the start of a counting period.
    return isChanged || nowMs < renderedAtMs || nowMs >= validUntilMs;
  }

  function hasCreated(format: Format, { startsWithPeriod }: Family): boolean {
    return openMetricsCreated && format === 'openmetrics' && startsWithPeriod === true;
  }

  function renderBlock(block: Block): void {
    const nowMs = clock.nowMs();
    const customers = block.sources.map((source) => labelledAt(source, nowMs));
    block.isChanged = false;
    block.renderedAtMs = nowMs;
    block.validUntilMs = Math.min(...customers.map(({ metrics }) => metrics.validUntilMs));
    block.chunks = families.map((family, i) => {
      const before = block.chunks[i];
      const text = unlessSame(before?.text, writeFamily(family, customers, context, false));
      const openmetrics = hasCreated('openmetrics', family)
        ? unlessSame(before?.openmetrics, writeFamily(family, customers, context, true))
        : text;
      return { text, openmetrics };
    });
  }

  /** Renders and compresses what changed up to an instant, yielding to the event loop between blocks. */
  async function renderPending(untilMs = Infinity): Promise<void> {
    for (const block of blocks) {
      if (isPending(block) && block.changedAtMs <= untilMs) {
        renderBlock(block);
        for (const { text, openmetrics } of block.chunks) {
          text.deflated();
          openmetrics.deflated();
        }
        await nextTurn();
      }
    }
  }

  return {
    renderPending,
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
      blocks = Array.from({ length: Math.ceil(sources.length / CUSTOMERS_PER_BLOCK) }, (_, i) => ({
        sources: sources.slice(i * CUSTOMERS_PER_BLOCK, (i + 1) * CUSTOMERS_PER_BLOCK),
        isChanged: true,
        changedAtMs: -Infinity,
        renderedAtMs: 0,
        validUntilMs: 0,
        chunks: [],
      }));
      blockOf = new Map(
        blocks.flatMap((block) => block.sources.map(({ customer }) => [customer, block])),
      );
    },

    /** Marks a customer's values as changed. Cheap; an unknown customer is ignored. */
    changed(customer: string): void {
      const block = blockOf.get(customer);
      if (block !== undefined) {
        block.isChanged = true;
        block.changedAtMs = clock.monotonicMs();
      }
    },

    /** All series of the customers at this instant, family by family. */
    render(format: Format): readonly Chunk[] {
      blocks.filter(isPending).forEach(renderBlock);
      return heads[format].flatMap((head, family) => {
        const chunks = blocks.flatMap((block) => block.chunks[family]?.[format] ?? []);
        const lines = chunks.filter(({ plain }) => plain.length > 0);
        return lines.length === 0 ? [] : [head, ...lines];
      });
    },

    /**
     * All series of these customers, each once, at this instant; undefined if one is unknown. Not cut
     * out of their blocks: rendering a customer takes 40 µs, searching its block 500 µs.
     */
    renderCustomers(names: readonly string[], format: Format): string | undefined {
      const nowMs = clock.nowMs();
      const customers: LabelledCustomer[] = [];
      for (const name of new Set(names)) {
        const source = blockOf.get(name)?.sources.find(({ customer }) => customer === name);
        if (source === undefined) {
          return undefined;
        }
        customers.push(labelledAt(source, nowMs));
      }
      const texts = families.map((family) => {
        const lines = writeFamily(family, customers, context, hasCreated(format, family));
        return lines === '' ? '' : writeHead(format, family) + lines;
      });
      return texts.join('');
    },

    /** Renders what has settled until the signal aborts, so that scrapes are fast. */
    async keepRendered(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        await renderPending(clock.monotonicMs() - SETTLE_MS);
        await clock.sleep(RENDER_INTERVAL_MS, signal).catch(() => {});
      }
    },
  };
}

/** A chunk that did not change keeps its compressed form. */
function unlessSame(before: Chunk | undefined, text: string): Chunk {
  const chunk = new Chunk(text);
  return before !== undefined && Buffer.compare(chunk.plain, before.plain) === 0 ? before : chunk;
}

interface LabelledCustomer {
  readonly metrics: CustomerMetrics;
  readonly label: string;
}

function labelledAt(source: MetricsSource, nowMs: number): LabelledCustomer {
  const metrics = source.metricsAt(nowMs);
  return { metrics, label: writeLabels(['customer', metrics.customer]) };
}

function writeFamily(
  family: Family,
  customers: readonly LabelledCustomer[],
  context: FamilyContext,
  withCreated: boolean,
): string {
  let text = '';
  for (const { metrics, label: customer } of customers) {
    for (const { labels, value } of family.samples(metrics, context)) {
      const written = labels === '' ? customer : `${customer},${labels}`;
      text += writeSample(family.name, written, value);
      if (withCreated) {
        const created = `${stemOf(family.name)}_created`;
        text += writeSample(created, written, metrics.periodStartMs / 1_000);
      }
    }
  }
  return text;
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
