/** A whole answer to a scrape: the customers' series, the exporter's own, and the end. */
import type { Exposition } from './exposition.ts';
import type { ExporterMetrics } from './exporter-metrics.ts';
import { END_OF } from './format.ts';
import type { Format } from './format.ts';
import { gzipWithRest } from './gzip.ts';

/** An answer, compressed if `gzip`: in their order the parts are it. Waits for nothing but its turns. */
export type Render = (format: Format, gzip: boolean) => Promise<readonly Uint8Array[]>;

export interface RenderOptions {
  readonly exposition: Exposition;
  readonly exporterMetrics: Pick<ExporterMetrics, 'render'>;
}

/** What the web room is given to answer scrapes with. */
export function createRender({ exposition, exporterMetrics }: RenderOptions): Render {
  return async (format, gzip) => {
    await exposition.freshen();
    // First, so that epoch and day are those at the time of the scrape.
    const customers = exposition.render(format);
    const own = Buffer.from((await exporterMetrics.render(format)) + END_OF[format]);
    return gzip
      ? [Buffer.concat(gzipWithRest(await customers.compressed(), own))]
      : [...customers.parts, own];
  };
}
