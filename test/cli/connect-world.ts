/** A simulated service with customers of every sort, and `check --connect` run against it. */
import { writeFile } from 'node:fs/promises';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { MINUTE_MS, plainConventions } from '../../src/simulator/conventions.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { createFaults } from '../../src/simulator/faults.ts';
import type { Faults } from '../../src/simulator/faults.ts';
import { startSimulator } from '../../src/simulator/http.ts';
import type { Simulator } from '../../src/simulator/http.ts';
import { drawLibrary } from '../../src/simulator/libraries.ts';
import { createSimulatedService } from '../../src/simulator/service.ts';
import type { SimulatedService } from '../../src/simulator/service.ts';
import { Workspace } from '../acceptance/daemon.ts';
import { afternoonZone } from '../acceptance/local-time.ts';
import { Terminal } from './terminal.ts';
import type { Ran } from './terminal.ts';

export interface Sort {
  readonly conventions?: Partial<Conventions>;
  /** Keys of the customer's configuration. */
  readonly config?: object;
  /** When somebody came in, went out and logged in, in minutes before now. */
  readonly visitsAgo?: readonly number[];
}

/** Each of them one in, one login; every second one goes out again within the minute. */
const VISITS_AGO = [3, 7, 8, 21, 34, 55, 89, 90, 91, 144];

/** An afternoon, so that hours ago is still today. */
export const ZONE = afternoonZone(Date.now());

export class ConnectWorld {
  readonly service: SimulatedService;
  readonly faults: Faults = createFaults({ random: seededRandom(1) });
  readonly #workspace = new Workspace();
  readonly #sorts: Readonly<Record<string, Sort>>;
  #simulator: Simulator | undefined;

  /** Customers by name, about whom nothing is known but their visits. */
  constructor(sorts: Readonly<Record<string, Sort>>, ofService: Partial<Conventions> = {}) {
    this.#sorts = sorts;
    const conventions = { ...plainConventions, ...ofService };
    this.service = createSimulatedService({
      seed: 1,
      clock: systemClock,
      conventions,
      customers: Object.entries(sorts).map(([name, sort], i) => ({
        library: drawLibrary(1, i + 1, { name, timezone: ZONE, visitsPerDay: 0 }),
        clientId: `${name}-api`,
        clientSecret: `quartz-${name}-lantern`,
        conventions: { ...conventions, ...sort.conventions },
      })),
    });
    for (const [name, { visitsAgo = VISITS_AGO }] of Object.entries(sorts)) {
      visitsAgo.forEach((minutes, i) => {
        const atMs = Math.floor(Date.now() / MINUTE_MS - minutes) * MINUTE_MS + 5_000;
        this.service.record(name, { kind: 'in', atMs });
        this.service.record(name, { kind: 'login', atMs: atMs + 1_000 });
        if (i % 2 === 1) {
          this.service.record(name, { kind: 'out', atMs: atMs + 2_000 });
        }
      });
    }
  }

  async start(): Promise<void> {
    this.#simulator = await startSimulator({
      service: this.service,
      faults: this.faults,
      clock: systemClock,
      listenAddress: '127.0.0.1:0',
    });
  }

  async stop(): Promise<void> {
    await this.#simulator?.close();
    await this.#workspace.close();
  }

  /** `settings` are sections of the configuration; `names` are those of it, by default all. */
  async check(
    settings: { readonly service?: object; readonly polling?: object } = {},
    names: readonly string[] = Object.keys(this.#sorts),
    terminal = new Terminal(),
  ): Promise<Ran> {
    const path = `${this.#workspace.folder}/config.yaml`;
    const url = this.#simulator?.url;
    const customers = names.map((name) => ({
      name,
      client_id: `${name}-api`,
      client_secret: `quartz-${name}-lantern`,
      timezone: ZONE,
      ...this.#sorts[name]?.config,
    }));
    const limits = { max_requests_per_second: 1_000 };
    const service = { base_url: url, auth_url: url, ...limits, ...settings.service };
    await writeFile(path, stringify({ ...settings, service, customers }));
    return terminal.run('check', '--connect', `--config.file=${path}`);
  }
}

/** The fields of the line of one stream. */
export function fieldsOf(
  { out }: Ran,
  customer: string,
  stream = 'people',
): Readonly<Record<string, string>> {
  const start = `customer=${customer} stream=${stream} `;
  const line = out.split('\n').find((candidate) => candidate.startsWith(start)) ?? '';
  const fields = line.matchAll(/(\w+)=("(?:[^"\\]|\\.)*"|\S+)/g);
  return Object.fromEntries(
    Array.from(fields, ([, name = '', value = '']) => [
      name,
      value.startsWith('"') ? String(JSON.parse(value)) : value,
    ]),
  );
}

/** Whom each finding concerns, by what it says. */
export function concernsOf({ out }: Ran): Readonly<Record<string, string>> {
  const concerns = out.matchAll(/^((?:wrong|note): .*)\n {2}whom: (.*)\n {2}what to do: .+$/gm);
  return Object.fromEntries(Array.from(concerns, ([, what = '', whom = '']) => [what, whom]));
}

/** A world that runs, and ends with the test. */
export async function started(
  ...options: ConstructorParameters<typeof ConnectWorld>
): Promise<ConnectWorld> {
  const world = new ConnectWorld(...options);
  await world.start();
  onTestFinished(() => world.stop());
  return world;
}

/** The world's parts under their own names. */
export function withCheck(of: ConnectWorld): Pick<ConnectWorld, 'service' | 'faults' | 'check'> {
  return { service: of.service, faults: of.faults, check: (...args) => of.check(...args) };
}
