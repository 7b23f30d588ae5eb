/** The exporter behind nginx with TLS and a path, as docs/operations.md says, and one tenant's part. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listen } from '../../src/base/listen.ts';
import { flagsFor, launch, Workspace } from '../acceptance/daemon.ts';
import { Exposition } from '../acceptance/exposition.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { ask, basic } from '../web/protected.ts';
import { debianProgram, eventually } from './support/processes.ts';

const workspace = new Workspace();
const authority = makeAuthority();
const OPERATOR = { ca: authority.cert, headers: { authorization: basic('operator', 'swan') } };
const TENANT = { ca: authority.cert, headers: { authorization: basic('tenant', 'heron') } };

/** URL of nginx. */
let proxy: string;

beforeAll(async () => {
  // nginx cannot pick a port.
  const placeholder = createServer();
  proxy = `https://${await listen(placeholder, { host: '127.0.0.1', port: 0 })}`;
  placeholder.close();
  const customer = { client_secret: 'otter-quay', timezone: 'Europe/Copenhagen' };
  const customers = { riverside: customer, 'old-town': customer, 'lotus-garden': customer };
  // Nobody responds there: customers are known without a poll.
  const configFile = workspace.configure('http://127.0.0.1:9', customers);
  const flags = flagsFor(workspace, configFile, `--web.external-url=${proxy}/library`);
  const exporter = await launch(workspace, flags).listening();
  const server = makeCertificate({ name: 'proxy', hosts: ['127.0.0.1'], issuer: authority });
  workspace.write('statistics.pem', server.cert);
  workspace.write('statistics-key.pem', server.key);
  workspace.write('operators', 'operator:{PLAIN}swan\n');
  workspace.write('tenant-north', 'tenant:{PLAIN}heron\n');
  const page = readFileSync('docs/operations.md', 'utf8');
  const [, documented = ''] = /```nginx\n([^`]+)```/.exec(page) ?? [];
  const own = documented
    .replaceAll('/etc/nginx/', `${workspace.folder}/`)
    .replace('listen 443', `listen ${new URL(proxy).host}`)
    .replaceAll('http://127.0.0.1:10096', exporter.url);
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const config = workspace.write(
    'nginx.conf',
    `daemon off; user root; pid nginx.pid; error_log stderr; events {} http { access_log off;
${folders.map((name) => `${name}_temp_path ${name};`).join(' ')}
${own}}`,
  );
  const nginx = debianProgram('/usr/sbin/nginx');
  launch(workspace, ['-c', config], {}, [nginx, `-p${workspace.folder}`]);
  await eventually('nginx', () => ask(proxy, '/', { ca: authority.cert }).catch(() => undefined));
});

afterAll(() => workspace.close());

/** The customers of a response, sorted. */
function customersIn(body: string): readonly string[] {
  const infos = new Exposition(body).all('library_site_info');
  return infos.map(({ labels }) => labels['customer'] ?? '').toSorted();
}

test('the status page and its links are below the path', async () => {
  const redirect = await ask(proxy, '/library', OPERATOR);
  expect([redirect.status, redirect.headers.location]).toEqual([301, `${proxy}/library/`]);
  const page = await ask(proxy, '/library/', OPERATOR);
  expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  const [, link = ''] = /href="([^"]+)">Metrics/.exec(page.body) ?? [];
  const { pathname } = new URL(link, `${proxy}/library/`);
  // Until the exporter is ready, the answer is 503.
  const metrics = await eventually('metrics', async () => {
    const response = await ask(proxy, pathname, OPERATOR);
    return response.status === 200 ? response : undefined;
  });
  expect(customersIn(metrics.body)).toEqual(['lotus-garden', 'old-town', 'riverside']);
});

test('a tenant gets its own customers, whatever it asks for, and nothing else', async () => {
  for (const query of ['', '?', '?customer=lotus-garden', '?&customer=lotus-garden']) {
    const { body } = await ask(proxy, `/tenants/north/metrics${query}`, TENANT);
    expect(customersIn(body)).toEqual(['old-town', 'riverside']);
    expect(body).not.toContain('library_exporter_');
  }
  for (const path of ['/library/', '/library/metrics', '/library/sd', '/library/-/reload']) {
    expect([path, (await ask(proxy, path, TENANT)).status]).toEqual([path, 401]);
  }
  for (const path of ['/metrics', '/tenants/north/', '/tenants/north/metrics/../../sd']) {
    expect([path, (await ask(proxy, path, TENANT)).status]).toEqual([path, 404]);
  }
});
