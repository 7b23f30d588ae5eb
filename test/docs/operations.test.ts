/** The example of web.yml in docs/operations.md is valid. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadWebConfig } from '../../src/config/web.ts';
import { folderOf } from '../config/folder.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';

const PAGE = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

test('the example is valid and causes no warning', async () => {
  const { cert, key } = makeCertificate({ name: 'server' });
  const folder = await folderOf({
    'web.yml': /```yaml\n(# web\.yml\n[^]*?)```/.exec(PAGE)?.[1] ?? '',
    'server.pem': cert,
    'server-key.pem': key,
    'clients-ca.pem': makeAuthority().cert,
  });
  const path = join(folder, 'web.yml');
  const { config, warnings } = await loadWebConfig({ path, env: {} });
  expect(warnings).toEqual([]);
  expect(config.tls?.clientAuth).toBe('RequireAndVerifyClientCert');
  expect([...config.users.keys()]).toEqual(['prometheus']);
});
