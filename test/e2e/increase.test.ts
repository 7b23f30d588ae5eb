/**
 * What Prometheus's own increase() makes of simulated scrapes: they are written out as unit tests for
 * promtool, with what arrived as the expected value. The exporter is killed, its service fails and
 * scrapes are missed meanwhile, and the month changes in the middle.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { plainConventions } from '../../src/simulator/conventions.ts';
import type { SimulatedService } from '../../src/simulator/service.ts';
import type { Environment } from '../simulation/environment.ts';
import { runEnvironment } from '../simulation/run.ts';
import { Scrape } from '../simulation/scrape.ts';
import { debianProgram, run } from './support/processes.ts';

const COUNTERS = [
  ['library_people_entered_total', 'entered'],
  ['library_people_exited_total', 'exited'],
  ['library_logins_total', 'logins'],
] as const;
const CUSTOMER = 'library-0';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** From the night before the last day of October to the second of November, when nobody comes. */
const WORLD: Omit<Environment, 'seed'> = {
  conventions: { ...plainConventions, minuteKey: { form: 'index', type: 'number' } },
  timezone: 'Europe/Copenhagen',
  visitsPerDay: [300],
  alwaysOpen: false,
  startMs: Date.UTC(2026, 9, 31, 0, 30),
  days: 2,
  intervalMs: MINUTE_MS,
  reconcileIntervalMs: HOUR_MS,
  breakdowns: [],
  breakdownIntervalMs: HOUR_MS,
  scrapeIntervalMs: MINUTE_MS,
  maxDelayMs: 400,
  exporters: 1,
  faultRate: 0.05,
  faultKinds: ['timeout', 'reset', 'unauthorized', 'unavailable', 'html', 'truncated', 'slow'],
  incidentsPerHour: 0.3,
  // No outage: what came in the month's last hours of one is in no counter, and in no increase.
  incidents: ['kill', 'tokens dropped', 'reload'],
};

interface Shown {
  readonly periodMs: number;
  readonly atMs: number;
  readonly value: number;
}

/** One place for each scrape, empty where there was none, from the first one that showed the counter. */
interface Log {
  readonly name: string;
  readonly places: readonly (Shown | undefined)[];
  readonly arrived: number;
}

const folder = mkdtempSync(join(tmpdir(), 'increase-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('increase() by Prometheus itself', () => {
  test.each([1, 2, 3])('over the scrapes of world %d is what arrived', async (seed) => {
    const logs = await play({ ...WORLD, seed });
    for (const { places, arrived } of logs) {
      expect(arrived).toBeGreaterThan(20);
      expect(places.filter((place) => place === undefined).length).toBeGreaterThan(10);
      expect(new Set(places.map((place) => place?.periodMs)).size).toBe(3);
    }
    const path = join(folder, `world-${seed}.json`);
    writeFileSync(path, JSON.stringify(unitTests(logs)));
    const { status, output } = run(debianProgram('/usr/bin/promtool'), ['test', 'rules', path]);
    expect({ status, output }).toMatchObject({ status: 0 });
  });

  test('is not what a log with one count more makes of it', async () => {
    const logs = await play({ ...WORLD, seed: 1 });
    const path = join(folder, 'wrong.json');
    const wrong = logs.map((log) => ({ ...log, arrived: log.arrived + 1 }));
    writeFileSync(path, JSON.stringify(unitTests(wrong)));
    const { status, output } = run(debianProgram('/usr/bin/promtool'), ['test', 'rules', path]);
    expect({ status, output }).toMatchObject({ status: 1 });
    expect(output.match(/expr: "round/g)).toHaveLength(COUNTERS.length);
  });
});

async function play(world: Environment): Promise<readonly Log[]> {
  const places = COUNTERS.map((): (Shown | undefined)[] => []);
  let service: SimulatedService | undefined;
  const { violations } = await runEnvironment(world, {
    watch: (scrape) => {
      ({ service } = scrape);
      const shown = new Scrape(scrape.text ?? '');
      const epoch = shown.value('library_counter_start_timestamp_seconds', CUSTOMER);
      COUNTERS.forEach(([name], i) => {
        const value = shown.value(name, CUSTOMER);
        const isKnown = value !== undefined && epoch !== undefined;
        places[i]?.push(isKnown ? { periodMs: 1000 * epoch, atMs: scrape.atMs, value } : undefined);
      });
    },
  });
  expect(violations).toEqual([]);
  return COUNTERS.map(([name, kind], i) => {
    const own = places[i] ?? [];
    const first = own.findIndex((place) => place !== undefined);
    return {
      name,
      places: own.slice(first),
      arrived: arrivedSince(own[first], kind, own, service),
    };
  });
}

/** What the service got between the first scrape and the last. At 04:00 nobody comes or goes. */
function arrivedSince(
  first: Shown | undefined,
  kind: 'entered' | 'exited' | 'logins',
  places: readonly (Shown | undefined)[],
  service: SimulatedService | undefined,
): number {
  const epochs = [...new Set(places.flatMap((place) => place?.periodMs ?? []))];
  const [ending = NaN, running = NaN] = epochs;
  function since(periodMs: number, nowMs?: number): number {
    return service?.served(CUSTOMER, periodMs, nowMs)[kind] ?? NaN;
  }
  return since(ending, running) - since(ending, first?.atMs) + since(running);
}

function unitTests(logs: readonly Log[]): object {
  return {
    rule_files: [],
    evaluation_interval: '1m',
    tests: logs.map(({ name, places, arrived }) => {
      // Half a minute before the first sample to half a minute after the last: no sample is at an edge,
      // which Prometheus 2 includes on the left and Prometheus 3 does not.
      const minutes = places.length - 1;
      const increase = `increase(${name}[${minutes + 1}m])`;
      return {
        interval: '1m',
        input_series: [
          { series: name, values: places.map((place) => place?.value ?? '_').join(' ') },
        ],
        promql_expr_test: [
          {
            // increase() extrapolates to the edges.
            expr: `round(${increase} * ${minutes} / ${minutes + 1})`,
            eval_time: `${minutes}m30s`,
            exp_samples: [{ labels: '{}', value: arrived }],
          },
        ],
      };
    }),
  };
}
