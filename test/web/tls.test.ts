/** TLS of the web server: versions, certificates of the server and of clients, and other protocols. */
import { connect as connectTls } from 'node:tls';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import type { TlsConfig } from '../../src/base/web-config.ts';
import type { WebServerOptions } from '../../src/web/server.ts';
import { webOptions } from './fixtures.ts';
import { ask, connected, protectedServer, protectionWith, tlsWith, USERS } from './protected.ts';

const authority = makeAuthority();
const hosts = ['localhost', '127.0.0.1'];
const first = makeCertificate({ name: 'first', hosts, issuer: authority });
const second = makeCertificate({ name: 'second', hosts, issuer: authority });
const clients = makeAuthority('clients');
const client = makeCertificate({ name: 'prometheus', issuer: clients });
const stranger = makeCertificate({ name: 'prometheus', issuer: makeAuthority('clients') });
const TRUSTING = { ca: authority.cert };

/** Returns whether a request with these options succeeds. */
async function gets(url: string, options: ConnectionOptions): Promise<boolean> {
  return ask(url, '/metrics', { ...TRUSTING, ...options }).then(
    ({ status }) => status === 200,
    () => false,
  );
}

async function handshake(url: string, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: hostname, port: Number(port), ...TRUSTING, ...options }, () =>
      resolve(socket),
    );
    socket.on('error', reject);
    onTestFinished(() => void socket.destroy());
  });
}

test('a scrape over TLS has the same response, and the URL is https', async () => {
  const { url } = await protectedServer({ tls: tlsWith(first) });
  expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  const { status, body } = await ask(url, '/metrics', TRUSTING);
  expect([status, body]).toEqual([200, 'text gzip=false\n']);
  expect(await gets(url, { ca: [] })).toBe(false);
});

test.each([
  ['TLSv1.2', ['TLSv1.2', 'TLSv1.3']],
  ['TLSv1.3', ['TLSv1.3']],
] as const)('versions from %s on are accepted, and no others', async (minVersion, expected) => {
  const { url } = await protectedServer({ tls: tlsWith(first, { minVersion }) });
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
  const good = { cert: client.cert, key: client.key };
  const required: Partial<TlsConfig> = { clientAuth: 'RequireAndVerifyClientCert' };
  const foreign = { cert: stranger.cert, key: stranger.key };

  test.each([
    ['NoClientCert', [true, true, true]],
    ['RequestClientCert', [true, true, true]],
    ['RequireClientCert', [false, true, true]],
    ['RequireAnyClientCert', [false, true, true]],
    ['VerifyClientCertIfGiven', [true, true, false]],
    ['RequireAndVerifyClientCert', [false, true, false]],
  ] as const)('%s allows none, a valid and a foreign one: %s', async (clientAuth, expected) => {
    const clientCa = clientAuth === 'NoClientCert' ? undefined : clients.cert;
    const tls = tlsWith(first, { clientAuth, clientCa });
    const exposition = vi.fn<WebServerOptions['exposition']>(webOptions().exposition);
    const { url } = await protectedServer({ tls }, { exposition });
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      exposition.mockClear();
      const got: boolean[] = [];
      for (const shown of [{}, good, foreign]) {
        got.push(await gets(url, { ...shown, maxVersion }));
      }
      expect(got).toEqual(expected);
      expect(exposition).toHaveBeenCalledTimes(expected.filter(Boolean).length);
    }
  });

  test('are required for health checks, too', async () => {
    const tls = tlsWith(first, { ...required, clientCa: clients.cert });
    const { url } = await protectedServer({ tls });
    await expect(ask(url, '/-/healthy', TRUSTING)).rejects.toThrow(/certificate required/);
    expect((await ask(url, '/-/healthy', { ...TRUSTING, ...good })).status).toBe(200);
  });

  test('of a new authority are allowed from the next connection on, those of the old one are not', async () => {
    const others = makeAuthority('others');
    const other = makeCertificate({ name: 'other', issuer: others });
    const { url, server } = await protectedServer({
      tls: tlsWith(first, { ...required, clientCa: clients.cert }),
    });
    let session: Buffer | undefined;
    const socket = await handshake(url, good);
    socket.on('session', (bytes) => (session = bytes));
    socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    expect(session).toBeInstanceOf(Buffer);
    server.protect(protectionWith({ tls: tlsWith(first, { ...required, clientCa: others.cert }) }));
    expect(await gets(url, { cert: other.cert, key: other.key })).toBe(true);
    expect(await gets(url, good)).toBe(false);
    // Not with a session of the old authority either.
    expect(await gets(url, { ...good, ...(session && { session }) })).toBe(false);
  });
});

test('a new server certificate is used from the next connection on', async () => {
  const { url, server } = await protectedServer({ tls: tlsWith(first) });
  expect((await handshake(url)).getPeerX509Certificate()?.subject).toBe('CN=first');
  server.protect(protectionWith({ tls: tlsWith(second) }));
  expect((await handshake(url)).getPeerX509Certificate()?.subject).toBe('CN=second');
});

describe('other protocols', () => {
  test('are disconnected at once', async () => {
    const { url } = await protectedServer({ tls: tlsWith(first), users: USERS });
    for (const sent of [
      'GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n',
      'SSH-2.0-x\r\n',
      '\0'.repeat(99),
    ]) {
      const { socket, ended } = await connected(url);
      socket.write(sent);
      expect(await ended).not.toContain('healthy');
    }
    await expect(ask(url.replace('https', 'http'), '/-/healthy')).rejects.toThrow(/hang up/);
    expect((await ask(url, '/-/healthy', TRUSTING)).status).toBe(200);
  });

  test('and unfinished handshakes are disconnected, without delay for others', async () => {
    const { url } = await protectedServer({ tls: tlsWith(first) });
    const { socket, ended } = await connected(url);
    socket.write(Buffer.of(0x16, 0x03, 0x01, 0x02));
    expect(await gets(url, {})).toBe(true);
    await ended;
  }, 30_000);
});
