/** The web configuration in Prometheus's own programs: promtool reads it, and Prometheus gets in. */
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { hashSync } from '@node-rs/bcrypt';
import { expect, onTestFinished, test } from 'vitest';
import { loadWebConfig } from '../../src/config/web.ts';
import { folderOf } from '../config/folder.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { protectedServer } from '../web/protected.ts';
import { debianProgram, eventually, run } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';

const PASSWORD = 'swift-lantern-orchard';

test('a file that promtool takes protects a scrape by Prometheus, who gets in by it', async () => {
  const authority = makeAuthority();
  const server = makeCertificate({ name: 'server', hosts: ['127.0.0.1'], issuer: authority });
  const clients = makeAuthority('clients');
  const client = makeCertificate({ name: 'prometheus', issuer: clients });
  const folder = await folderOf({
    'ca.pem': authority.cert,
    'server.pem': server.cert,
    'server-key.pem': server.key,
    'clients-ca.pem': clients.cert,
    'prometheus.pem': client.cert,
    'prometheus-key.pem': client.key,
    password: PASSWORD,
    'web.yml': `tls_server_config:
  cert_file: server.pem
  key_file: server-key.pem
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: clients-ca.pem
  min_version: TLS13
basic_auth_users:
  prometheus: ${hashSync(PASSWORD, 10)}
`,
  });
  const path = join(folder, 'web.yml');
  const promtool = debianProgram('/usr/bin/promtool');
  expect(run(promtool, ['check', 'web-config', path])).toMatchObject({ status: 0 });

  const { config } = await loadWebConfig({ path, env: {} });
  const { url } = await protectedServer(config, {
    exposition(format, gzip) {
      const text = Buffer.from(`library_open 1\n${format === 'text' ? '' : '# EOF\n'}`);
      return Promise.resolve([gzip ? gzipSync(text) : text]);
    },
  });
  const prometheus = await startPrometheus(
    { library: new URL(url).host },
    {
      scrape: {
        scheme: 'https',
        tls_config: {
          ca_file: join(folder, 'ca.pem'),
          cert_file: join(folder, 'prometheus.pem'),
          key_file: join(folder, 'prometheus-key.pem'),
        },
        basic_auth: { username: 'prometheus', password_file: join(folder, 'password') },
      },
    },
  );
  onTestFinished(() => prometheus.stop());
  await eventually(
    'a good scrape',
    async () => (await prometheus.query('library_open')).length > 0 || undefined,
  );
}, 90_000);
