/** A simulated service on loopback with customers of several sorts, and configurations for it. */
import { systemClock } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { MINUTE_MS } from '../../src/base/duration.ts';
import { plainConventions } from '../../src/simulator/conventions.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { createFaults } from '../../src/simulator/faults.ts';
import { startSimulator } from '../../src/simulator/http.ts';
import { drawLibrary } from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { createSimulatedService } from '../../src/simulator/simulated-service.ts';
import { Workspace } from '../acceptance/daemon.ts';
import type { Settings as FileSettings } from '../acceptance/daemon.ts';
import { afternoonZone } from '../acceptance/local-time.ts';

export const SECRET = 'quartz-otter-lantern';

/** An afternoon, so that hours ago is still today. */
const ZONE = afternoonZone(Date.now());

export interface Sort {
  readonly conventions?: Partial<Conventions>;
  /** Without visits, unless this says otherwise. */
  readonly library?: Partial<Library>;
  /** Minutes before now at which somebody came in and logged in; every second one goes out again. */
  readonly visitsAgo?: readonly number[];
}

interface Settings extends Pick<FileSettings, 'service' | 'polling'> {
  /** Keys of all customers. */
  readonly customer?: object;
}

interface Past {
  readonly clock?: Pick<Clock, 'nowMs'>;
  readonly historyMs?: number;
  /** Of all customers. */
  readonly library?: Partial<Library>;
}

export type Environment = Awaited<ReturnType<typeof startEnvironment>>;

export async function startEnvironment(
  sorts: Readonly<Record<string, Sort>>,
  ofService: Partial<Conventions> = {},
  { library: common, ...past }: Past = {},
) {
  const workspace = new Workspace();
  const conventions = { ...plainConventions, ...ofService };
  const service = createSimulatedService({
    seed: 1,
    clock: systemClock,
    ...past,
    conventions,
    customers: Object.entries(sorts).map(([name, { library, conventions: own }], i) => {
      const drawn = { name, timezone: ZONE, visitsPerDay: 0, ...common, ...library };
      return {
        library: drawLibrary(1, i + 1, drawn),
        clientId: `${name}-api`,
        clientSecret: SECRET,
        conventions: { ...conventions, ...own },
      };
    }),
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
  const environment = {
    service,
    faults,
    workspace,
    /** Data requests: endpoint, `from` and `to`. */
    requests: [] as string[],
    /** Called before the response to each. */
    onRequest(_request: string): void {},
    /** Writes a configuration of all customers, and returns the flag that names it. */
    config({ customer, ...settings }: Settings = {}): string {
      const customers = service.customers.map(({ library: { name, timezone } }) => [
        name,
        { client_secret: SECRET, timezone, ...customer },
      ]);
      const { url } = simulator;
      return `--config.file=${workspace.configure(url, Object.fromEntries(customers), settings)}`;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await simulator.close();
      await workspace.close();
    },
  };
  const simulator = await startSimulator({
    service: {
      ...service,
      handle(request) {
        const { path, query } = request;
        if (path.startsWith('/v1/') && query instanceof URLSearchParams) {
          const asked = `${path} ${query.get('from') ?? ''} ${query.get('to') ?? ''}`;
          environment.requests.push(asked);
          environment.onRequest(asked);
        }
        return service.handle(request);
      },
    },
    faults,
    clock: systemClock,
    listenAddress: '127.0.0.1:0',
  });
  return environment;
}
