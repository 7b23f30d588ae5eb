/** The order in which a daemon stops. */
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { Database } from '../../src/storage/database.ts';
import { folderOf } from '../config/folder.ts';
import { reply } from '../service/support/harness.ts';
import { peopleBody, tokenBody } from '../support/scripted-server.ts';
import { started } from './fixture.ts';

const WAIT = { timeout: 20_000 };

test('stop ends readiness and reloads first, then polls, and writes the state file last', async () => {
  const storagePath = await folderOf({});
  const rows = [{ key: new Date().toISOString(), in: 3, out: 1, value: 2 }];
  const released = Promise.withResolvers<void>();
  let [hanging, aborted] = [0, 0];
  let isHanging = false;
  const { daemon, url, logged, metric } = await started({
    storagePath,
    transport: {
      async exchange({ url: asked, form }, signal) {
        if (isHanging) {
          hanging += 1;
          signal?.addEventListener('abort', () => (aborted += 1));
          await released.promise;
        }
        const aggregation = new URL(asked).searchParams.get('aggregation') ?? '';
        return reply(200, form === undefined ? peopleBody(rows, aggregation) : tokenBody())();
      },
      close() {},
    },
  });
  async function readiness(): Promise<string> {
    const response = await fetch(new URL('/-/ready', url));
    return `${response.status} ${await response.text()}`;
  }
  const total = 'library_people_entered_total\\{.*\\}';
  await vi.waitFor(async () => expect(await metric(total)).toBe(3), WAIT);
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
