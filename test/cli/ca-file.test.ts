/** `service.ca_file` and `service.proxy_url` of `run`, and that a reload reads them again. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Workspace } from '../acceptance/daemon.ts';
import { flagsFor, launch } from '../acceptance/daemon.ts';
import { AUTHORITY, startFakeService } from '../service/support/fake-service.ts';
import type { FakeService } from '../service/support/fake-service.ts';
import { makeAuthority } from '../support/certificates.ts';

const workspace = new Workspace();
const PATIENT = { timeout: 30_000 };
let service: FakeService;

beforeAll(async () => {
  service = await startFakeService({ certificate: 'good' });
});
afterAll(async () => {
  await workspace.close();
  await service[Symbol.asyncDispose]();
});

function configWith(settings: object): string {
  const config = {
    service: { base_url: service.url, auth_url: service.url, ca_file: 'ca.pem', ...settings },
    polling: { interval: '1s' },
    customers: [
      {
        name: 'riverside',
        client_id: 'a',
        client_secret_file: workspace.write('riverside.secret', 'amber-violet-river'),
        timezone: 'Europe/Oslo',
      },
    ],
  };
  return workspace.write('config.yaml', JSON.stringify(config));
}

test('a reload applies a changed ca_file and proxy_url', async () => {
  workspace.write('ca.pem', makeAuthority().cert);
  const file = configWith({});
  const flags = flagsFor(workspace, file, '--web.enable-lifecycle', '--log.level=debug');
  const child = await launch(workspace, flags).listening();
  await child.until(() => child.stderr.includes('set service.ca_file'));
  expect(service.asked).toEqual([]);

  workspace.write('ca.pem', 'no certificate');
  expect((await child.reload()).status).toBe(400);
  expect(service.asked).toEqual([]);

  workspace.write('ca.pem', AUTHORITY);
  expect((await child.reload()).status).toBe(200);
  await vi.waitUntil(() => service.count('/v1/peoplecount') > 0, PATIENT);

  // Nothing listens on port 1, and no request may bypass the proxy.
  configWith({ proxy_url: 'http://user:amber-violet-river@127.0.0.1:1' });
  expect((await child.reload()).status).toBe(200);
  const before = service.asked.length;
  const failed = /library_poll_failures_total\{customer="riverside",stream="people"\} ([1-9]\d*)/;
  await vi.waitUntil(async () => failed.test(await (await child.get('/metrics')).text()), PATIENT);
  expect(service.asked).toHaveLength(before);
  await child.stop();
  expect(child.stderr + child.stdout).not.toMatch(/amber|violet/);
}, 90_000);
