/** A simulated service on loopback with customers of several sorts, and configurations for it. */
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { MINUTE_MS, plainConventions } from '../../src/simulator/conventions.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { createFaults } from '../../src/simulator/faults.ts';
import { startSimulator } from '../../src/simulator/http.ts';
import { drawLibrary } from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { createSimulatedService } from '../../src/simulator/service.ts';
import { Workspace } from '../acceptance/daemon.ts';
import { afternoonZone } from '../acceptance/local-time.ts';

export const SECRET = 'quartz-otter-lantern';

/** An afternoon, so that hours ago is still today. */
export const ZONE = afternoonZone(Date.now());

export interface Sort {
  readonly conventions?: Partial<Conventions>;
  /** Without visits, unless this says otherwise. */
  readonly library?: Partial<Library>;
  /** Minutes before now at which somebody came in and logged in; every second one goes out again. */
  readonly visitsAgo?: readonly number[];
}

export interface Settings {
  readonly service?: object;
  readonly polling?: object;
  /** Keys of all customers. */
  readonly customer?: object;
}

export async function startWorld(
  sorts: Readonly<Record<string, Sort>>,
  ofService: Partial<Conventions> = {},
) {
  const workspace = new Workspace();
  const conventions = { ...plainConventions, ...ofService };
  const service = createSimulatedService({
    seed: 1,
    clock: systemClock,
    conventions,
    customers: Object.entries(sorts).map(([name, sort], i) => ({
      library: drawLibrary(1, i + 1, { name, timezone: ZONE, visitsPerDay: 0, ...sort.library }),
      clientId: `${name}-api`,
      clientSecret: SECRET,
      conventions: { ...conventions, ...sort.conventions },
    })),
  });
  for (const [name, { visitsAgo = [] }] of Object.entries(sorts)) {
    visitsAgo.forEach((minutes, i) => {
      const atMs = Math.floor(Date.now() / MINUTE_MS - minutes) * MINUTE_MS + 5_000;
      service.record(name, { kind: 'in', atMs });
      service.record(name, { kind: 'login', atMs: atMs + 1_000 });
      if (i % 2 === 1) {
        service.record(name, { kind: 'out', atMs: atMs + 2_000 });
      }
    });
  }
  const faults = createFaults({ random: seededRandom(1) });
  const listenAddress = '127.0.0.1:0';
  const simulator = await startSimulator({ service, faults, clock: systemClock, listenAddress });
  return {
    service,
    faults,
    /** The flag that names a configuration of all customers. */
    config: (settings?: Settings) =>
      configFlag(workspace, simulator.url, Object.keys(sorts), settings),
    async [Symbol.asyncDispose]() {
      await simulator.close();
      await workspace.close();
    },
  };
}

/** Writes a configuration of customers in one zone with one secret; returns the flag that names it. */
export function configFlag(
  workspace: Workspace,
  url: string,
  names: readonly string[],
  { customer, service, polling }: Settings = {},
): string {
  const config = {
    service: { base_url: url, auth_url: url, max_requests_per_second: 1_000, ...service },
    ...(polling === undefined ? {} : { polling }),
    defaults: { timezone: ZONE },
    customers: names.map((name) => ({
      name,
      client_id: `${name}-api`,
      client_secret: SECRET,
      ...customer,
    })),
  };
  return `--config.file=${workspace.write('config.yaml', JSON.stringify(config))}`;
}

/** The objects of JSON lines. */
export function objectsOf(text: string): readonly Readonly<Record<string, unknown>>[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}
