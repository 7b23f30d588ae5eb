/** The order in which a daemon stops. */
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { plainConventions } from '../../src/simulator/conventions.ts';
import { exporterConfigYaml } from '../../src/simulator/demo-service.ts';
import { drawLibrary } from '../../src/simulator/libraries.ts';
import { createSimulatedService } from '../../src/simulator/simulated-service.ts';
import { Database } from '../../src/storage/database.ts';
import { folderOf, load } from '../config/folder.ts';
import { toResponse, toSimulated } from '../support/exporter-process.ts';
import { started } from './fixture.ts';

const WAIT = { timeout: 20_000 };

test('stop ends readiness and reloads first, then polls, and writes the state file last', async () => {
  const library = drawLibrary(1, 1, { name: 'riverside', visitsPerDay: 50 });
  const service = createSimulatedService({
    seed: 1,
    clock: systemClock,
    conventions: plainConventions,
    customers: [{ library, clientId: 'riverside-api', clientSecret: 'otter-quay' }],
  });
  const polling = { interval: '1s' };
  const yaml = exporterConfigYaml(service, 'http://127.0.0.1:9', { polling });
  const storagePath = await folderOf({});
  const released = Promise.withResolvers<void>();
  let [hanging, aborted] = [0, 0];
  let isHanging = false;
  const { daemon, url, logged, metric } = await started({
    loaded: await load({ 'config.yaml': yaml }),
    storagePath,
    transport: {
      async exchange(request, signal) {
        if (isHanging) {
          hanging += 1;
          signal?.addEventListener('abort', () => (aborted += 1));
          await released.promise;
        }
        return toResponse(service.handle(toSimulated(request)));
      },
      close() {},
    },
  });
  const total = 'library_people_entered_total\\{.*\\}';
  async function readiness(): Promise<string> {
    const response = await fetch(new URL('/-/ready', url));
    return `${response.status} ${await response.text()}`;
  }
  await vi.waitFor(async () => expect(await metric(total)).toBeGreaterThanOrEqual(0), WAIT);
  expect(await readiness()).toMatch(/^200 /);
  expect((await fetch(new URL('/-/healthy', url))).status).toBe(200);
  isHanging = true;
  await vi.waitFor(() => expect(hanging).toBeGreaterThan(0), WAIT);

  const stopped = daemon.stop();
  await vi.waitFor(() => expect(aborted).toBeGreaterThan(0), WAIT);
  expect(await readiness()).toMatch(/^503 .*: the exporter is stopping\n/);
  expect(await daemon.reload()).toEqual({ ok: false, problems: 'the exporter is stopping' });
  expect(() => Database.open(join(storagePath, 'state.db'))).toThrow('in use by another process');
  released.resolve();
  await stopped;
  expect(logged.at(-1)).toMatch(/^stopped/);
  await expect(fetch(url)).rejects.toThrow('fetch failed');
  const stored = Database.marksOf(join(storagePath, 'state.db'));
  expect(stored.map(({ counter }) => counter)).toContain('people_entered');
});
