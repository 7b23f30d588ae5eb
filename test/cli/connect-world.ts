/** A simulated service with customers of several sorts, to run `check --connect` against. */
import { writeFile } from 'node:fs/promises';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
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

  /** Writes a configuration of all customers and returns its path. `settings` are sections of it. */
  async writeConfig(
    settings: { readonly service?: object; readonly polling?: object } = {},
  ): Promise<string> {
    const path = `${this.#workspace.folder}/config.yaml`;
    const url = this.#simulator?.url;
    const customers = Object.entries(this.#sorts).map(([name, { config }]) => ({
      name,
      client_id: `${name}-api`,
      client_secret: `quartz-${name}-lantern`,
      timezone: ZONE,
      ...config,
    }));
    const limits = { max_requests_per_second: 1_000 };
    const service = { base_url: url, auth_url: url, ...limits, ...settings.service };
    await writeFile(path, stringify({ ...settings, service, customers }), { mode: 0o600 });
    return path;
  }

  async check(...settings: Parameters<ConnectWorld['writeConfig']>): Promise<CheckResult> {
    return checkJson(await this.writeConfig(...settings));
  }
}

export interface CheckResult {
  readonly status: number;
  readonly out: string;
  readonly err: string;
  /** The streams of --format=json by customer and stream, as in `riverside people`. */
  readonly streams: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Customers by severity and message, as in `error: auth: …`. */
  readonly findings: Readonly<Record<string, readonly string[]>>;
  readonly json: Readonly<Record<string, unknown>>;
}

const RESULT = z.looseObject({
  streams: z.array(z.looseObject({ customer: z.string(), stream: z.string() })),
  findings: z.array(
    z.object({
      severity: z.enum(['error', 'warning']),
      message: z.string(),
      fix: z.string().min(1),
      customers: z.array(z.string()),
    }),
  ),
});

/** Runs `check --connect --format=json`. */
export async function checkJson(config: string): Promise<CheckResult> {
  const result = await new Terminal().run(
    'check',
    '--connect',
    '--format=json',
    `--config.file=${config}`,
  );
  const json = RESULT.parse(JSON.parse(result.out));
  return {
    ...result,
    json,
    streams: Object.fromEntries(
      json.streams.map((fields) => [`${fields.customer} ${fields.stream}`, fields]),
    ),
    findings: Object.fromEntries(
      json.findings.map(({ severity, message, customers }) => [
        `${severity}: ${message}`,
        customers,
      ]),
    ),
  };
}

/** A started world. It is stopped at the end of the test. */
export async function started(
  ...options: ConstructorParameters<typeof ConnectWorld>
): Promise<ConnectWorld> {
  const world = new ConnectWorld(...options);
  await world.start();
  onTestFinished(() => world.stop());
  return world;
}
