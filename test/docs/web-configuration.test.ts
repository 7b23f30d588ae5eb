/** docs/web-configuration.md: its example is a good file, and Prometheus reads the other one. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CLIENT_AUTHS } from '../../src/config/types.ts';
import { createWebSchema, loadWebConfig } from '../../src/config/web.ts';
import { folderOf } from '../config/folder.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';

const PAGE = readFileSync(new URL('../../docs/web-configuration.md', import.meta.url), 'utf8');

test('the example is taken, without a warning', async () => {
  const { cert, key } = makeCertificate({ name: 'server' });
  const folder = await folderOf({
    'web.yml': /```yaml\n([^]*?)```/.exec(PAGE)?.[1] ?? '',
    'server.pem': cert,
    'server-key.pem': key,
    'clients-ca.pem': makeAuthority().cert,
  });
  const path = join(folder, 'web.yml');
  const { config, warnings } = await loadWebConfig({ path, env: {}, nowMs: Date.now() });
  expect(warnings).toEqual([]);
  expect(config.tls?.clientAuth).toBe('RequireAndVerifyClientCert');
  expect([...config.users.keys()]).toEqual(['prometheus']);
});

test('the page names every key of a section, and every policy', () => {
  const { shape } = createWebSchema();
  const tls = shape.tls_server_config.unwrap().shape;
  const names = [...Object.keys(shape), ...Object.keys(tls), ...CLIENT_AUTHS];
  const rare = ['prefer_server_cipher_suites', 'curve_preferences'];
  expect(names.filter((name) => !PAGE.includes(name) && !rare.includes(name))).toEqual([]);
});
