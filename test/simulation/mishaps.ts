/**
 * What happens to exporters, to the service and to the network while a world is played: one mishap
 * at a time, in the middle of whatever is under way.
 */
import type { Random } from '../../src/base/random.ts';
import { Secret } from '../../src/base/secret.ts';
import type { Config } from '../../src/config/types.ts';
import type { FaultKind, Faults } from '../../src/simulator/faults.ts';
import { pick } from '../../src/simulator/chance.ts';
import type { SimulatedService } from '../../src/simulator/service.ts';
import type { Auditor } from './auditor.ts';
import type { DrawnWorld, MishapKind } from './drawn-world.ts';
import type { SimulatedExporter } from './exporter.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** What a mishap may get hold of. */
export interface Stage {
  readonly world: DrawnWorld;
  readonly random: Random;
  readonly service: SimulatedService;
  readonly faults: Faults;
  readonly exporters: readonly SimulatedExporter[];
  readonly auditor: Auditor;
  /** What exporters are started and reloaded with. */
  config: Config;
  /** Lets time pass. */
  step(this: void, ms: number): Promise<void>;
}

/** What befalls is over, or goes on by itself, when the promise settles. */
export async function befall(kind: MishapKind, stage: Stage): Promise<void> {
  const { random, service, exporters } = stage;
  const exporter = pick(random, exporters);
  const name = `exporter ${exporters.indexOf(exporter)}`;
  switch (kind) {
    case 'kill':
    case 'kill, torn file':
    case 'kill, lost file': {
      const disk = kind === 'kill' ? 'whole' : kind === 'kill, torn file' ? 'torn' : 'lost';
      exporter.kill(disk);
      stage.auditor.killed(name, disk);
      await stage.step(random.next() * 20 * MINUTE_MS);
      exporter.start(stage.config);
      return;
    }
    case 'clock steps':
      if (exporter.clock !== undefined) {
        exporter.clock.aheadMs = pick(random, [-HOUR_MS, HOUR_MS, -5 * MINUTE_MS, 0]);
      }
      return;
    case 'outage':
      return during(stage, { rate: 1, kinds: ['reset', 'timeout'] }, 30 * HOUR_MS);
    case 'empty answers for a while':
      // Longer than two intervals it is what the service says.
      return during(stage, { rate: 1, kinds: ['empty'] }, 1.5 * stage.world.intervalMs);
    case 'tokens dropped':
      service.dropTokens();
      return;
    case 'secret rotated': {
      const [customer] = service.customers;
      const secret = service.rotateSecret(customer?.library.name ?? '');
      await stage.step(random.next() * 2 * HOUR_MS);
      stage.config = withSecret(stage.config, customer?.library.name ?? '', secret);
      exporters.forEach((one) => one.reload(stage.config));
      return;
    }
    case 'credentials revoked': {
      const name = service.customers[0]?.library.name ?? '';
      service.revoke(name);
      await stage.step(random.next() * 3 * HOUR_MS);
      service.restore(name);
      return;
    }
    case 'reload':
      stage.config = { ...stage.config, customers: stage.config.customers.toReversed() };
      exporters.forEach((one) => one.reload(stage.config));
  }
}

async function during(
  stage: Stage,
  plan: { readonly rate: number; readonly kinds: readonly FaultKind[] },
  atMostMs: number,
): Promise<void> {
  const { faultRate, faultKinds } = stage.world;
  stage.faults.set(plan);
  await stage.step(stage.random.next() * atMostMs);
  stage.faults.clear();
  if (faultKinds.length > 0) {
    stage.faults.set({ rate: faultRate, kinds: faultKinds });
  }
}

function withSecret(config: Config, customer: string, secret: string): Config {
  return {
    ...config,
    customers: config.customers.map((one) =>
      one.name === customer
        ? { ...one, clientSecret: { secret: new Secret(secret), path: undefined } }
        : one,
    ),
  };
}
