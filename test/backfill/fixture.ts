/** Simulated libraries at a fixed instant, `backfill` run on them, and the files it writes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { DAY_MS } from '../../src/base/duration.ts';
import { OFFICE_HOURS } from '../../src/simulator/libraries.ts';
import { startEnvironment } from '../cli/simulated-environment.ts';
import type { Sort } from '../cli/simulated-environment.ts';
import { Terminal } from '../cli/terminal.ts';

/** The sixth of November, in the afternoon of Europe. */
const NOW_MS = Date.UTC(2026, 10, 6, 15);
const LIBRARY = { timezone: 'Europe/Copenhagen', visitsPerDay: 100, opening: OFFICE_HOURS };

/** Starts simulated libraries with a configuration, and a past of so many days. */
export async function startBackfill(
  libraries: Readonly<Record<string, Sort>> = { lone: {} },
  days = 70,
) {
  const past = { clock: { nowMs: () => NOW_MS }, historyMs: days * DAY_MS, library: LIBRARY };
  const environment = await startEnvironment(libraries, { fromEdge: 'inclusive' }, past);
  const { service, workspace } = environment;
  const output = join(workspace.folder, 'past');
  const configFlag = environment.config();
  return Object.assign(environment, {
    configFlag,
    /** The folder that `run` writes. */
    output,
    run(flags: readonly string[], terminal = new Terminal()) {
      environment.requests.length = 0;
      return terminal.run('backfill', configFlag, `--output=${output}`, ...flags);
    },
    files: () => readdirSync(output).toSorted(),
    month: (name: string, folder = output) => readFileSync(join(folder, `${name}.om`), 'utf8'),
    /** People who entered between two instants, by the service. */
    entered: (startMs: number, endMs: number) =>
      service.served('lone', startMs).entered - service.served('lone', endMs).entered,
  });
}

/** The samples of each series of a file. Throws if promtool would drop one or reject the file. */
export function readMonth(text: string) {
  const series = new Map<string, { readonly atMs: number; readonly value: number }[]>();
  const [, ...families] = text.replace(/\n# EOF\n$/, '').split(/^# TYPE /m);
  for (const family of families) {
    const [head = '', ...lines] = family.split('\n');
    const name = head.split(' ')[0] ?? '';
    let previous = '';
    for (const line of lines.filter((each) => each !== '' && !each.startsWith('# HELP '))) {
      const [, id = '', value, seconds] = /^(\S+\{.*\}) (\S+) (\S+)$/.exec(line) ?? [];
      const samples = series.get(id) ?? [];
      const [last] = samples.slice(-1);
      const sample = { atMs: Number(seconds) * 1000, value: Number(value) };
      const isNext = last === undefined || (id === previous && sample.atMs > last.atMs);
      if (!isNext || !id.replace('_total{', '{').startsWith(`${name}{`)) {
        throw new Error(`not of ${name}, or not in order: ${line}`);
      }
      samples.push(sample);
      series.set(id, samples);
      previous = id;
    }
  }
  return series;
}

/** The samples of the one series of a metric and customer; empty if there is none. */
export function seriesOf(text: string, metric: string, customer = 'lone') {
  const start = `${metric}{customer="${customer}"`;
  const [found, ...others] = [...readMonth(text)].filter(([id]) => id.startsWith(start));
  expect(others).toEqual([]);
  return found?.[1] ?? [];
}
