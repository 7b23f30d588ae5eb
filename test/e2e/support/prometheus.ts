/** A real Prometheus with a folder of its own, on a free port of the loopback. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { debianProgram, startServer } from './processes.ts';

export type Prometheus = Awaited<ReturnType<typeof startPrometheus>>;

const SAMPLE = z.object({
  metric: z.record(z.string(), z.string()),
  value: z.tuple([z.number(), z.string()]),
});
const VECTOR = z.object({ data: z.object({ result: z.array(SAMPLE) }) });

/**
 * The exporter is scraped every second, as the job `library`. `sections` are further ones of the configuration. A storage
 * is there after the end, and keeps its blocks, whatever their age.
 */
export async function startPrometheus(exporterUrl: string, sections = {}, storage = 'data') {
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-'));
  // JSON is YAML.
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    scrape_configs: [
      { job_name: 'library', static_configs: [{ targets: [new URL(exporterUrl).host] }] },
    ],
    ...sections,
  };
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const flags = [
    '--config.file=prometheus.yml',
    `--storage.tsdb.path=${storage}`,
    '--storage.tsdb.retention.time=10y',
    '--web.listen-address=127.0.0.1:0',
  ];
  const program = debianProgram('prometheus');
  const { address, stop } = await startServer(program, flags, folder, /Server is ready/);
  /** The instant vector that the query gives, by default now. Throws with Prometheus's words where it is wrong. */
  async function query(expression: string, atMs = Date.now()) {
    const parameters = new URLSearchParams({ query: expression, time: String(atMs / 1000) });
    const response = await fetch(`http://${address}/api/v1/query?${parameters.toString()}`);
    if (!response.ok) {
      throw new Error(`${expression} is refused: ${await response.text()}`);
    }
    const { data } = VECTOR.parse(await response.json());
    return data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
  }
  return { query, stop, [Symbol.asyncDispose]: stop };
}
