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
import { createSimulatedService } from '../../../src/simulator/service.ts';
import type { SimulatedService } from '../../../src/simulator/service.ts';
import { Terminal } from '../terminal.ts';
import type { Ran } from '../terminal.ts';

/** The sixth of November, in the afternoon of Europe. */
const NOW_MS = Date.UTC(2026, 10, 6, 15);

export interface FixtureOptions {
  readonly conventions?: Partial<Conventions>;
  readonly libraries?: Readonly<Record<string, Partial<Library>>>;
  readonly historyDays?: number;
  /** Keys of every customer in the configuration. */
  readonly config?: object;
}

export class BackfillFixture {
  readonly folder = mkdtempSync(join(tmpdir(), 'backfill-'));
  readonly output = join(this.folder, 'history');
  readonly configFlag = `--config.file=${join(this.folder, 'config.yaml')}`;
  readonly service: SimulatedService;
  /** Data requests so far: endpoint, `from` and `to`. */
  requests: string[] = [];
  /** Called before each data request is answered. */
  onRequest: (request: string) => void = () => {};
  readonly #config: object | undefined;
  #simulator: Simulator | undefined;

  private constructor(options: FixtureOptions) {
    const { conventions, libraries = { lone: {} }, historyDays = 70 } = options;
    this.#config = options.config;
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

  static async start(options: FixtureOptions = {}): Promise<BackfillFixture> {
    const fixture = new BackfillFixture(options);
    const { service } = fixture;
    fixture.#simulator = await startSimulator({
      service: {
        ...service,
        handle(request) {
          const { path, query } = request;
          if (path.startsWith('/v1/') && query instanceof URLSearchParams) {
            const asked = `${path} ${query.get('from') ?? ''} ${query.get('to') ?? ''}`;
            fixture.requests.push(asked);
            fixture.onRequest(asked);
          }
          return service.handle(request);
        },
      },
      faults: createFaults({ random: seededRandom(1) }),
      clock: systemClock,
      listenAddress: '127.0.0.1:0',
    });
    fixture.configure(fixture.#config);
    return fixture;
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
    this.requests = [];
    return terminal.run('backfill', this.configFlag, `--output=${this.output}`, ...flags);
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

/** The samples of each series of a file. Throws if promtool would drop one or reject the file. */
export function readMonth(text: string): ReadonlyMap<string, readonly WrittenSample[]> {
  if (!text.endsWith('\n# EOF\n')) {
    throw new Error('the file does not end with # EOF');
  }
  const series = new Map<string, WrittenSample[]>();
  const families: string[] = [];
  let lastId = '';
  for (const line of text.split('\n').slice(0, -2)) {
    const [, family] = /^# TYPE (\S+) /.exec(line) ?? [];
    if (family !== undefined) {
      families.push(family);
    } else if (!line.startsWith('# HELP ')) {
      const [, id = '', value, seconds] = /^(\S+\{.*\}) (\S+) (\S+)$/.exec(line) ?? [];
      const current = families.at(-1) ?? '';
      const samples = series.get(id) ?? [];
      const sample = { atMs: Number(seconds) * 1000, value: Number(value) };
      if (
        !(id.startsWith(`${current}{`) || id.startsWith(`${current}_total{`)) ||
        (samples.length > 0 && id !== lastId) ||
        !(sample.atMs > (samples.at(-1)?.atMs ?? -Infinity)) ||
        !Number.isFinite(sample.value)
      ) {
        throw new Error(`not of ${current}, not in order, or not a number: ${line}`);
      }
      lastId = id;
      samples.push(sample);
      series.set(id, samples);
    }
  }
  if (new Set(families).size < families.length) {
    throw new Error('a family is in two places');
  }
  return series;
}

/** The series of a metric and customer; empty if there is none. */
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
