/** Simulated libraries at a fixed instant, `backfill` run on them, and the files it writes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS } from '../../src/base/duration.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { OFFICE_HOURS } from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { startEnvironment } from '../cli/simulated-environment.ts';
import { Terminal } from '../cli/terminal.ts';
import type { Ran } from '../cli/terminal.ts';

/** The sixth of November, in the afternoon of Europe. */
const NOW_MS = Date.UTC(2026, 10, 6, 15);
const LIBRARY = { timezone: 'Europe/Copenhagen', visitsPerDay: 100, opening: OFFICE_HOURS };

interface FixtureOptions {
  readonly conventions?: Partial<Conventions>;
  readonly libraries?: Readonly<Record<string, Partial<Library>>>;
  readonly pastDays?: number;
}

/** Starts simulated libraries with a configuration. The files of `backfill` are in `output`. */
export async function startBackfill(options: FixtureOptions = {}) {
  const { conventions, libraries = { lone: {} }, pastDays = 70 } = options;
  const customers = Object.entries(libraries).map(([name, library]) => [
    name,
    { library: { ...LIBRARY, ...library } },
  ]);
  const simulated = await startEnvironment(
    Object.fromEntries(customers),
    { fromEdge: 'inclusive', ...conventions },
    { clock: { nowMs: () => NOW_MS }, historyMs: pastDays * DAY_MS },
  );
  const { service, workspace } = simulated;
  const output = join(workspace.folder, 'past');
  const requests: string[] = [];
  const fixture = {
    service,
    folder: workspace.folder,
    output,
    /** Data requests of the last run: endpoint, `from` and `to`. */
    requests,
    configFlag: simulated.config(),
    /** Called before the response to each data request. */
    onRequest(_request: string): void {},
    configure(customer: object): void {
      fixture.configFlag = simulated.config({ customer });
    },
    run(flags: readonly string[], terminal = new Terminal()): Promise<Ran> {
      requests.length = 0;
      return terminal.run('backfill', fixture.configFlag, `--output=${output}`, ...flags);
    },
    files: () => readdirSync(output).toSorted(),
    month: (name: string, folder = output) => readFileSync(join(folder, `${name}.om`), 'utf8'),
    /** People who entered between two instants, by the service. */
    entered: (startMs: number, endMs: number) =>
      service.served('lone', startMs).entered - service.served('lone', endMs).entered,
    [Symbol.asyncDispose]: () => simulated[Symbol.asyncDispose](),
  };
  simulated.onRequest = (request) => {
    requests.push(request);
    fixture.onRequest(request);
  };
  return fixture;
}

export interface WrittenSample {
  readonly atMs: number;
  readonly value: number;
}

/** The samples of each series of a file. Throws if promtool would drop one or reject the file. */
export function readMonth(text: string): ReadonlyMap<string, readonly WrittenSample[]> {
  const series = new Map<string, WrittenSample[]>();
  const [, ...families] = text.replace(/\n# EOF\n$/, '').split(/^# TYPE /m);
  for (const family of families) {
    const [head = '', ...lines] = family.split('\n');
    const name = head.split(' ')[0] ?? '';
    let samples: WrittenSample[] = [];
    for (const line of lines.filter((each) => each !== '' && !each.startsWith('# HELP '))) {
      const [, id = '', value, seconds] = /^(\S+\{.*\}) (\S+) (\S+)$/.exec(line) ?? [];
      if (!series.has(id)) {
        samples = [];
        series.set(id, samples);
      }
      const atMs = Number(seconds) * 1000;
      const isNext = series.get(id) === samples && atMs > (samples.at(-1)?.atMs ?? -Infinity);
      if (!isNext || !id.replace('_total{', '{').startsWith(`${name}{`)) {
        throw new Error(`not of ${name}, or not in order: ${line}`);
      }
      samples.push({ atMs, value: Number(value) });
    }
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
