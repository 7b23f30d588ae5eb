/** What happens to exporters and to the service in the middle of polls, one incident at a time. */
import { HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { Secret } from '../../src/base/secret.ts';
import { pick } from '../../src/simulator/chance.ts';
import type { FaultPlan } from '../../src/simulator/faults.ts';
import type { IncidentKind } from './environment.ts';
import type { Run } from './run.ts';

/** A clock that is so wrong may be in another counting period: nothing may be polled by it. */
const WRONG_CLOCKS_HOURS = [-70 * 24, -40 * 24, -7, 7, 40 * 24, 70 * 24];

/** Resolves when the incident is over, or goes on by itself. */
export async function causeIncident(
  kind: IncidentKind | 'hours changed' | 'move',
  run: Run,
): Promise<void> {
  const { random, service, exporters, clock } = run;
  const exporter = pick(random, exporters);
  const customer = service.customers[0]?.library.name ?? '';
  switch (kind) {
    case 'kill':
    case 'kill, lost file': {
      const disk = kind === 'kill' ? 'whole' : 'lost';
      exporter.kill(disk);
      run.auditor.killed(`exporter ${exporters.indexOf(exporter)}`, disk);
      await clock.advance(random.next() * 20 * MINUTE_MS);
      exporter.start(run.config);
      return;
    }
    case 'clock steps': {
      const own = exporter.clock();
      if (own !== undefined) {
        own.aheadMs = pick(random, [-HOUR_MS, HOUR_MS, -5 * MINUTE_MS, 0]);
      }
      return;
    }
    case 'clock wrong for a while': {
      if (random.next() < 0.5) {
        exporter.kill('whole');
        exporter.start(run.config);
      }
      const own = exporter.clock();
      const aheadMs = pick(random, WRONG_CLOCKS_HOURS) * HOUR_MS;
      const endMs = clock.nowMs() + random.next() * 4 * HOUR_MS;
      while (own !== undefined && clock.nowMs() < endMs) {
        own.aheadMs = aheadMs;
        await clock.advance(run.environment.scrapeIntervalMs);
        run.scrape();
      }
      if (own !== undefined) {
        own.aheadMs = 0;
      }
      return;
    }
    case 'outage':
      return failFor(run, { rate: 1, kinds: ['reset', 'timeout'] }, 30 * HOUR_MS);
    case 'empty responses for a while':
      // After two intervals they would be accepted.
      return failFor(run, { rate: 1, kinds: ['empty'] }, 1.5 * run.environment.intervalMs);
    case 'tokens dropped':
      service.dropTokens();
      return;
    case 'secret rotated': {
      const secret = new Secret(service.rotateSecret(customer));
      await clock.advance(random.next() * 2 * HOUR_MS);
      run.configure(({ name }) =>
        name === customer ? { clientSecret: { secret, path: undefined } } : {},
      );
      return;
    }
    case 'credentials revoked':
      service.revoke(customer);
      await clock.advance(random.next() * 3 * HOUR_MS);
      service.restore(customer);
      return;
    case 'reload':
      return run.reload(run.config.customers.toReversed());
    case 'branches reconfigured':
      return run.environment.branches > 0 ? run.nameBranches() : undefined;
    case 'hours changed':
      return run.setHours();
    case 'move':
      return run.move(customer);
  }
}

async function failFor(run: Run, plan: FaultPlan, maxMs: number): Promise<void> {
  run.faults.set(plan);
  await run.clock.advance(run.random.next() * maxMs);
  run.setFaults();
}
