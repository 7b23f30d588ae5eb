/** TLS of the web server: versions, certificates of the server and of clients. */
import { once } from 'node:events';
import { connect as connectTls } from 'node:tls';
import type { ConnectionOptions } from 'node:tls';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import type { TlsConfig } from '../../src/base/web-config.ts';
import type { WebServerOptions } from '../../src/web/server.ts';
import { ask, protectedServer, tlsWith } from './protected.ts';

const authority = await makeAuthority();
const server = await makeCertificate({ name: 'server', hosts: ['127.0.0.1'], issuer: authority });
const clients = await makeAuthority('clients');
const client = await makeCertificate({ name: 'prometheus', issuer: clients });
const stranger = await makeCertificate({
  name: 'prometheus',
  issuer: await makeAuthority('clients'),
});
const TRUSTING = { ca: authority.cert };

async function gets(url: string, options: ConnectionOptions): Promise<boolean> {
  return ask(url, '/metrics', { ...TRUSTING, ...options }).then(
    ({ status }) => status === 200,
    () => false,
  );
}

test.each([
  ['TLSv1.2', ['TLSv1.2', 'TLSv1.3']],
  ['TLSv1.3', ['TLSv1.3']],
] as const)('versions from %s on are accepted, and no others', async (minVersion, expected) => {
  const { url } = await protectedServer({ tls: tlsWith(server, { minVersion }) });
  expect(url).toMatch(/^https:/);
  expect(await gets(url, { ca: [] })).toBe(false);
  const accepted: string[] = [];
  for (const version of ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const) {
    const asked = { minVersion: version, maxVersion: version, ciphers: 'ALL:@SECLEVEL=0' };
    if (await gets(url, asked)) {
      accepted.push(version);
    }
  }
  expect(accepted).toEqual(expected);
});

describe('client certificates', () => {
  test.each([
    ['NoClientCert', [true, true, true]],
    ['RequestClientCert', [true, true, true]],
    ['RequireClientCert', [false, true, true]],
    ['RequireAnyClientCert', [false, true, true]],
    ['VerifyClientCertIfGiven', [true, true, false]],
    ['RequireAndVerifyClientCert', [false, true, false]],
  ] as const)('%s allows none, a valid and a foreign one: %s', async (clientAuth, expected) => {
    const clientCa = clientAuth === 'NoClientCert' ? undefined : clients.cert;
    const tls = tlsWith(server, { clientAuth, clientCa });
    const exposition = vi.fn<WebServerOptions['exposition']>(() => Promise.resolve([]));
    const { url } = await protectedServer({ tls }, { exposition });
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      exposition.mockClear();
      const got: boolean[] = [];
      for (const shown of [{}, client, stranger]) {
        got.push(await gets(url, { ...shown, maxVersion }));
      }
      expect(got).toEqual(expected);
      expect(exposition).toHaveBeenCalledTimes(expected.filter(Boolean).length);
    }
  });

  test('of a new authority are allowed from the next connection on, those of the old one are not', async () => {
    const others = await makeAuthority('others');
    const other = await makeCertificate({ name: 'other', issuer: others });
    const required: Partial<TlsConfig> = { clientAuth: 'RequireAndVerifyClientCert' };
    const tls = tlsWith(server, { ...required, clientCa: clients.cert });
    const { url, server: running } = await protectedServer({ tls });
    const { hostname: host, port } = new URL(url);
    const socket = connectTls({ host, port: Number(port), ...TRUSTING, ...client });
    onTestFinished(() => void socket.destroy());
    socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
    const [[session]] = await Promise.all([once(socket, 'session'), once(socket, 'data')]);
    const next = tlsWith(server, { ...required, clientCa: others.cert });
    running.protect({ tls: next, users: new Map() });
    expect(await gets(url, other)).toBe(true);
    expect(await gets(url, client)).toBe(false);
    // Not with a session of the old authority either.
    expect(await gets(url, { ...client, session: session as Buffer })).toBe(false);
  });
});
