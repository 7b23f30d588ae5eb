/** `check`: the problems of a configuration, and with `--connect` what the service says. */
import { rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Workspace, writeConfig } from '../acceptance/daemon.ts';
import { LedgerService } from '../acceptance/ledger-service.ts';
import { afternoonZone } from '../acceptance/local-time.ts';
import { fillHistory } from '../acceptance/world.ts';
import { ran, Terminal } from './terminal.ts';

const service = new LedgerService();
const workspace = new Workspace();
const zone = afternoonZone(Date.now());
const [riverside, hilltop] = [
  service.addCustomer('riverside', zone),
  service.addCustomer('hilltop', zone),
];

beforeAll(async () => {
  await service.start();
  fillHistory(riverside.ledger);
});
afterAll(async () => {
  await workspace.close();
  await service.stop();
});

function config(customers = [riverside, hilltop], settings: object = {}): string {
  return `--config.file=${writeConfig(workspace, service, customers, { service: settings })}`;
}

test('says that a configuration is good, and for how many customers', async () => {
  const file = config();
  expect(await ran('check', file)).toEqual({
    status: 0,
    out: `${workspace.folder}/config.yaml: good, 2 customers\n`,
    err: '',
  });
  expect((await ran('check', config([riverside]))).out).toContain(': good, 1 customer\n');
});

test('asks nobody without --connect', async () => {
  const before = service.requests.length;
  await ran('check', config());
  expect(service.requests).toHaveLength(before);
});

test('says every problem on standard output, and on standard error that there are some', async () => {
  const file = config();
  const bad = `${workspace.folder}/bad.yaml`;
  writeFileSync(bad, 'service: {}\ncustomers:\n  - name: riverside\n    colour: red\n');
  const { status, out, err } = await ran('check', `--config.file=${bad}`);
  expect(status).toBe(2);
  expect(out).toMatch(/bad\.yaml:1:\d+: service\.base_url: /);
  expect(out).toMatch(/bad\.yaml:4:5: customers\[0\]\.colour: /);
  expect(err).toBe('the configuration has problems\n');
  expect((await ran('check', file)).status).toBe(0);
});

test('says warnings of what works but should not be so', async () => {
  const file = config();
  const secret = `${workspace.folder}/open.secret`;
  writeFileSync(secret, 'open-to-all', { mode: 0o644 });
  const text = JSON.stringify({
    service: { base_url: service.url, auth_url: service.url },
    customers: [
      { name: 'open', client_id: 'x', client_secret_file: secret, timezone: 'Europe/Oslo' },
    ],
  });
  const open = workspace.write('open.yaml', text);
  const { status, out } = await ran('check', `--config.file=${open}`);
  expect(status).toBe(0);
  expect(out).toMatch(/^warning: .*open\.yaml/);
  expect(out).not.toContain('open-to-all');
  rmSync(secret);
  expect((await ran('check', file)).status).toBe(0);
});

test('a configuration that is not there is a problem like others', async () => {
  const { status, out } = await ran('check', '--config.file=/no/such/file.yaml');
  expect(status).toBe(2);
  expect(out).toContain('/no/such/file.yaml:1:1: (file): does not exist');
});

test('--connect says of each stream what the exporter would show', async () => {
  const { status, out } = await ran('check', '--connect', config());
  expect(status).toBe(0);
  expect(out).toMatch(
    /^customer=riverside stream=people reason=none token=good newest=\S+ lag_seconds=\d+ keys=iso day=agrees clock_ahead_seconds=-?\d since=\S+T04:00:00\S+ people_entered=\d+ people_exited=\d+ people_entered_today=26 people_exited_today=16 occupancy=15$/m,
  );
  expect(out).toMatch(/^customer=riverside stream=logins .* logins=[1-9]\d* logins_today=32$/m);
  expect(out).toMatch(/^customer=hilltop stream=people .* newest=- .* people_entered=0 /m);
});

test('--connect ends with 1 where a stream does not answer well, and says which and why', async () => {
  service.fail(hilltop, 'html');
  const { status, out, err } = await ran('check', '--connect', config());
  service.heal(hilltop);
  expect(status).toBe(1);
  expect(out).toMatch(/^customer=riverside stream=people reason=none /m);
  expect(out).toMatch(/^customer=hilltop stream=people reason=malformed token=good /m);
  expect(out).toMatch(/^wrong: malformed: the content type is not JSON.*\n {2}whom: hilltop\n/m);
  expect(err).toBe('library-stats-exporter: something is wrong with 1 of 2 customers\n');
});

test('--connect says whose credentials are refused', async () => {
  const file = config();
  const { secret } = hilltop;
  hilltop.secret = `other-${secret}`;
  const { status, out } = await ran('check', '--connect', file);
  hilltop.secret = secret;
  expect(status).toBe(1);
  expect(out).toMatch(/^customer=hilltop stream=people reason=auth token=refused /m);
  expect(out).toMatch(/^wrong: auth: the service refused the credentials.*\n {2}whom: hilltop\n/m);
  expect(out).not.toContain(secret);
});

test('--connect asks the last customer too, where the limits let few requests through', async () => {
  const slow = new LedgerService();
  await slow.start();
  const names = Array.from({ length: 4 }, (_, i) => slow.addCustomer(`library-${i}`, zone));
  const file = writeConfig(workspace, slow, names, {
    service: { max_requests_per_second: 24, max_concurrency: 2, timeout: '500ms' },
  });
  // All requests at 24 a second take longer than two timeouts, which everybody has for himself.
  const { status, out } = await ran('check', '--connect', `--config.file=${file}`);
  await slow.stop();
  expect(out.match(/ reason=none token=good /g)).toHaveLength(8);
  expect(status).toBe(0);
});

test('--connect ends at once, with status 0, when it is told to stop', async () => {
  service.fail(riverside, 'hang');
  const terminal = new Terminal();
  const before = service.requests.length;
  // Longer than this test may take: only the signal ends it.
  const file = config([riverside], { timeout: '60s' });
  const running = terminal.run('check', '--connect', file);
  await expect.poll(() => service.requests.length).toBeGreaterThan(before + 1);
  terminal.terminate();
  const { status, out } = await running;
  service.heal(riverside);
  expect(status).toBe(0);
  expect(out).toMatch(/stopped before every customer was asked\n$/);
  expect(out).not.toContain('timeout');
});
