/** The exporter behind nginx with TLS and a path, as docs/operations.md says, and one tenant's part. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listen } from '../../src/base/listen.ts';
import { launch } from '../acceptance/daemon.ts';
import { Exposition } from '../acceptance/exposition.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { ask, basic } from '../web/protected.ts';
import { startExporters } from './support/exporters.ts';
import type { Exporters } from './support/exporters.ts';
import { debianProgram, eventually } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus } from './support/prometheus.ts';

const authority = makeAuthority();
const OPERATOR = { ca: authority.cert, headers: { authorization: basic('operator', 'swan') } };
const TENANT = { ca: authority.cert, headers: { authorization: basic('tenant', 'heron') } };

let exporters: Exporters;
/** URL of nginx. */
let proxy: string;
const servers: Prometheus[] = [];

beforeAll(async () => {
  // nginx cannot pick a port.
  const placeholder = createServer();
  proxy = `https://${await listen(placeholder, { host: '127.0.0.1', port: 0 })}`;
  placeholder.close();
  exporters = await startExporters([`--web.external-url=${proxy}/library`]);
  const { workspace, daemons } = exporters;
  const server = makeCertificate({ name: 'proxy', hosts: ['127.0.0.1'], issuer: authority });
  workspace.write('ca.pem', authority.cert);
  workspace.write('statistics.pem', server.cert);
  workspace.write('statistics-key.pem', server.key);
  workspace.write('operators', 'operator:{PLAIN}swan\n');
  workspace.write('tenant-north', 'tenant:{PLAIN}heron\n');
  const page = readFileSync('docs/operations.md', 'utf8');
  const [, documented = ''] = /```nginx\n([^`]+)```/.exec(page) ?? [];
  const own = documented
    .replaceAll('/etc/nginx/', `${workspace.folder}/`)
    .replace('listen 443', `listen ${new URL(proxy).host}`)
    .replaceAll('http://127.0.0.1:10096', daemons[0]?.url ?? '');
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

afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await exporters?.stop();
});

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
  expect(new Exposition(metrics.body).all('library_site_info')).toHaveLength(5);
  // The simulated service draws its traffic in this process. A request that is not written meanwhile ends with 408.
  const direct = await eventually('a redirect', async () => {
    const response = await ask(exporters.daemons[0]?.url ?? '', '/');
    return response.status === 408 ? undefined : response;
  });
  expect([direct.status, direct.headers.location]).toEqual([302, `${proxy}/library/`]);
});

async function scraping(job: object): Promise<Prometheus> {
  const scrape_configs = [
    {
      job_name: 'library',
      scheme: 'https',
      tls_config: { ca_file: join(exporters.workspace.folder, 'ca.pem') },
      ...job,
    },
  ];
  const server = await startPrometheus({}, { config: { scrape_configs } });
  servers.push(server);
  return server;
}

async function customersOf(prometheus: Prometheus): Promise<readonly string[]> {
  return prometheus.labelValues('customer', '{__name__=~"library_.+"}');
}

test('Prometheus finds and scrapes every customer through the proxy', async () => {
  const basic_auth = { username: 'operator', password: 'swan' };
  const tls_config = { ca_file: join(exporters.workspace.folder, 'ca.pem') };
  const sd = { url: `${proxy}/library/sd`, refresh_interval: '1s', basic_auth, tls_config };
  const prometheus = await scraping({ basic_auth, http_sd_configs: [sd] });
  const customers = await eventually('five customers', async () => {
    const found = await customersOf(prometheus);
    return found.length === 5 ? found : undefined;
  });
  expect(customers.toSorted()).toEqual(exporters.customers.toSorted());
});

test('a tenant gets its own customers, whatever it asks for, and nothing else', async () => {
  const prometheus = await scraping({
    metrics_path: '/tenants/north/metrics',
    basic_auth: { username: 'tenant', password: 'heron' },
    params: { customer: ['lotus-garden'] },
    static_configs: [{ targets: [new URL(proxy).host] }],
  });
  const own = ['old-town', 'riverside'];
  await eventually('two customers', async () =>
    (await prometheus.query('library_site_info')).length === 2 ? true : undefined,
  );
  expect(await customersOf(prometheus)).toEqual(own);
  for (const query of ['', '?', '?customer=lotus-garden', '?&customer=lotus-garden']) {
    const { body } = await ask(proxy, `/tenants/north/metrics${query}`, TENANT);
    const infos = new Exposition(body).all('library_site_info');
    expect(infos.map(({ labels }) => labels['customer'] ?? '').toSorted()).toEqual(own);
    expect(body).not.toContain('library_exporter_');
  }
  for (const path of ['/library/', '/library/metrics', '/library/sd', '/library/-/reload']) {
    expect([path, (await ask(proxy, path, TENANT)).status]).toEqual([path, 401]);
  }
  for (const path of ['/metrics', '/tenants/north/', '/tenants/north/metrics/../../sd']) {
    expect([path, (await ask(proxy, path, TENANT)).status]).toEqual([path, 404]);
  }
});
