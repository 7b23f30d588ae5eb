/** A simulated service on loopback with one customer, `riverside`, and a configuration for it. */
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { plainConventions } from '../../src/simulator/conventions.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { createFaults } from '../../src/simulator/faults.ts';
import { startSimulator } from '../../src/simulator/http.ts';
import { drawLibrary } from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { createSimulatedService } from '../../src/simulator/service.ts';
import type { SimulatedService } from '../../src/simulator/service.ts';
import type { Workspace } from '../acceptance/daemon.ts';

export const SECRET = 'open-sesame-4f1d';

export interface SimulatedWorld extends AsyncDisposable {
  readonly service: SimulatedService;
  readonly url: string;
  /** The flag that names the configuration. */
  readonly config: string;
}

/** A quiet library that never closes, unless `library` says otherwise. */
export async function startWorld(
  workspace: Workspace,
  conventions: Partial<Conventions> = {},
  library: Partial<Library> = {},
): Promise<SimulatedWorld> {
  const given = { name: 'riverside', timezone: 'Europe/Copenhagen', visitsPerDay: 0, ...library };
  const service = createSimulatedService({
    seed: 7,
    customers: [
      { library: drawLibrary(7, 42, given), clientId: 'riverside-api', clientSecret: SECRET },
    ],
    conventions: { ...plainConventions, ...conventions },
    clock: systemClock,
  });
  const simulator = await startSimulator({
    service,
    faults: createFaults({ random: seededRandom(1) }),
    clock: systemClock,
    listenAddress: '127.0.0.1:0',
  });
  return {
    service,
    url: simulator.url,
    config: `--config.file=${configFile(workspace, simulator.url, ['riverside'])}`,
    [Symbol.asyncDispose]: () => simulator.close(),
  };
}

/** A configuration of customers in Copenhagen, all with the same secret; returns its path. */
export function configFile(
  workspace: Workspace,
  url: string,
  names: readonly string[],
  service: object = {},
): string {
  const config = {
    service: { base_url: url, auth_url: url, max_requests_per_second: 1_000, ...service },
    defaults: { timezone: 'Europe/Copenhagen' },
    customers: names.map((name) => ({ name, client_id: `${name}-api`, client_secret: SECRET })),
  };
  return workspace.write(
    `config-${names.length}-${new URL(url).port}.yaml`,
    JSON.stringify(config),
  );
}

/** The objects of JSON lines. */
export function objectsOf(text: string): readonly Readonly<Record<string, unknown>>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
