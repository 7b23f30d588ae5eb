/** Simulated libraries over HTTP at a fixed instant, `backfill` run on them, and the files it writes. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { systemClock } from '../../../src/base/clock.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { DAY_MS, plainConventions } from '../../../src/simulator/conventions.ts';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import { createFaults } from '../../../src/simulator/faults.ts';
import { startSimulator } from '../../../src/simulator/http.ts';
import type { Simulator } from '../../../src/simulator/http.ts';
import { drawLibrary, OFFICE_HOURS } from '../../../src/simulator/libraries.ts';
import type { Library } from '../../../src/simulator/libraries.ts';
import type { SimulatedRequest } from '../../../src/simulator/responses.ts';
import { createSimulatedService } from '../../../src/simulator/service.ts';
import type { SimulatedService } from '../../../src/simulator/service.ts';
import { Terminal } from '../terminal.ts';
import type { Ran } from '../terminal.ts';

/** The sixth of November, in the afternoon of Europe. */
export const NOW_MS = Date.UTC(2026, 10, 6, 15);

export interface BackfillWorldOptions {
  readonly conventions?: Partial<Conventions>;
  readonly libraries?: Readonly<Record<string, Partial<Library>>>;
  readonly historyDays?: number;
  /** Keys of every customer in the configuration. */
  readonly config?: object;
}

export interface AskedRequest {
  readonly path: string;
  /** As it was written; empty where it was not asked. */
  readonly from: string;
  readonly to: string;
}

function timeOf(query: SimulatedRequest['query'], name: 'from' | 'to'): string {
  return query instanceof URLSearchParams ? (query.get(name) ?? '') : '';
}

export class BackfillWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'backfill-'));
  readonly output = join(this.folder, 'history');
  readonly service: SimulatedService;
  readonly requests: AskedRequest[] = [];
  /** Told of each request before it is answered. */
  asked: (request: AskedRequest) => void = () => {};
  readonly #options: BackfillWorldOptions;
  #simulator: Simulator | undefined;

  constructor(options: BackfillWorldOptions = {}) {
    this.#options = options;
    const { conventions, libraries = { lone: {} }, historyDays = 70 } = options;
    this.service = createSimulatedService({
      seed: 1,
      conventions: { ...plainConventions, fromEdge: 'inclusive', ...conventions },
      clock: { nowMs: () => NOW_MS },
      historyMs: historyDays * DAY_MS,
      customers: Object.entries(libraries).map(([name, given], i) => ({
        library: drawLibrary(1, i + 1, {
          name,
          timezone: 'Europe/Copenhagen',
          visitsPerDay: 100,
          opening: OFFICE_HOURS,
          ...given,
        }),
        clientId: `${name}-api`,
        clientSecret: `quartz-${name}-lantern`,
      })),
    });
  }

  static async started(options?: BackfillWorldOptions): Promise<BackfillWorld> {
    const world = new BackfillWorld(options);
    await world.start();
    return world;
  }

  async start(): Promise<void> {
    const { service } = this;
    this.#simulator = await startSimulator({
      service: {
        ...service,
        handle: (request) => {
          const { path, query } = request;
          const asked = { path, from: timeOf(query, 'from'), to: timeOf(query, 'to') };
          this.requests.push(asked);
          this.asked(asked);
          return service.handle(request);
        },
      },
      faults: createFaults({ random: seededRandom(1) }),
      clock: systemClock,
      listenAddress: '127.0.0.1:0',
    });
    this.configure(this.#options.config);
  }

  configure(settings: object = {}): void {
    const url = this.#simulator?.url;
    const customers = this.service.customers.map(({ library, clientId, clientSecret }) => ({
      name: library.name,
      client_id: clientId,
      client_secret: clientSecret,
      timezone: library.timezone,
      ...settings,
    }));
    const service = { base_url: url, auth_url: url, max_requests_per_second: 2_000 };
    writeFileSync(join(this.folder, 'config.yaml'), stringify({ service, customers }));
  }

  run(flags: readonly string[], terminal = new Terminal()): Promise<Ran> {
    return terminal.run(
      'backfill',
      `--config.file=${join(this.folder, 'config.yaml')}`,
      `--output=${this.output}`,
      ...flags,
    );
  }

  /** How many questions about data were asked since this was called last. */
  questions(): number {
    const asked = this.requests.filter(({ path }) => path.startsWith('/v1/')).length;
    this.requests.length = 0;
    return asked;
  }

  files(): readonly string[] {
    return readdirSync(this.output).toSorted();
  }

  month(name: string): string {
    return readFileSync(join(this.output, `${name}.om`), 'utf8');
  }

  async stop(): Promise<void> {
    await this.#simulator?.close();
    rmSync(this.folder, { recursive: true });
  }
}

export interface WrittenSample {
  readonly atMs: number;
  readonly value: number;
}

/** The samples of each series of a file. Throws where promtool would drop one or refuse the file. */
export function readMonth(text: string): ReadonlyMap<string, readonly WrittenSample[]> {
  const lines = text.split('\n');
  if (lines.at(-2) !== '# EOF' || lines.at(-1) !== '') {
    throw new Error('the file does not end with # EOF');
  }
  const series = new Map<string, WrittenSample[]>();
  const families = new Set<string>();
  let family = '';
  for (const line of lines.slice(0, -2)) {
    const [, head] = /^# TYPE (\S+) /.exec(line) ?? [];
    if (head !== undefined) {
      if (families.has(head)) {
        throw new Error(`${head} comes twice`);
      }
      families.add(head);
      family = head;
      continue;
    }
    if (line.startsWith('# HELP ')) {
      continue;
    }
    const [, id = '', value, seconds] = /^(\S+\{.*\}) (\S+) (\S+)$/.exec(line) ?? [];
    if (!id.startsWith(`${family}{`) && !id.startsWith(`${family}_total{`)) {
      throw new Error(`not of ${family}: ${line}`);
    }
    const samples = series.get(id) ?? [];
    const atMs = Number(seconds) * 1000;
    if (!(atMs > (samples.at(-1)?.atMs ?? -Infinity)) || !Number.isFinite(Number(value))) {
      throw new Error(`not in order, or no number: ${line}`);
    }
    samples.push({ atMs, value: Number(value) });
    series.set(id, samples);
  }
  return series;
}

/** The one series of a metric and customer. */
export function seriesOf(
  text: string,
  metric: string,
  customer = 'lone',
): readonly WrittenSample[] {
  const found = [...readMonth(text)].filter(([id]) =>
    id.startsWith(`${metric}{customer="${customer}"`),
  );
  if (found.length > 1) {
    throw new Error(`${metric} has ${found.length} series`);
  }
  return found[0]?.[1] ?? [];
}
