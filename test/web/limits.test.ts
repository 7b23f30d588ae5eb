/** Slow, silent and many clients do not keep others out. Over real sockets. */
import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { codeOf } from '../../src/base/errors.ts';
import type { WebConfig } from '../../src/base/web-config.ts';
import type { WebServerOptions } from '../../src/web/server.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { GOOD, USERS, ask, connected, protectedServer, tlsWith } from './protected.ts';

const SCRAPE = 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n';
const MAX_SCRAPES = 40;
const SILENT = 600;
const LARGE = Buffer.alloc(16 * 1_024 * 1_024, 'x');
const WAIT = { timeout: 20_000 };

const authority = makeAuthority();
const certificate = makeCertificate({ name: 'x', hosts: ['127.0.0.1'], issuer: authority });

/** Clients that send nothing, and connect again as soon as they are disconnected. */
function silentClients(url: string, count: number): void {
  const { hostname: host, port } = new URL(url);
  const sockets = new Set<Socket>();
  function open(): void {
    const socket = connect({ host, port: Number(port), allowHalfOpen: true });
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket) && open());
  }
  Array.from({ length: count }, open);
  onTestFinished(() => {
    const remaining = [...sockets];
    sockets.clear();
    remaining.forEach((socket) => socket.destroy());
  });
}

test.each<[string, Partial<WebConfig>]>([
  ['plain http with authentication', { users: USERS }],
  ['https', { tls: tlsWith(certificate) }],
])('silent clients do not keep others out of %s', async (_name, protection) => {
  const { url } = await protectedServer(protection);
  silentClients(url, SILENT);
  const options = { headers: GOOD, ca: authority.cert };
  for (const path of ['/metrics', '/-/healthy', '/metrics']) {
    expect((await ask(url, path, options)).status).toBe(200);
  }
});

test('silent clients are disconnected even if they do not close their half', async () => {
  const { url } = await protectedServer({});
  const socket = connect({ port: Number(new URL(url).port), allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  await once(socket.resume(), 'end');
  const failed = once(socket, 'error');
  // The server closed both halves, so that its kernel sends a reset.
  const writing = setInterval(() => socket.write('x'), 10);
  onTestFinished(() => clearInterval(writing));
  expect(codeOf((await failed)[0])).toMatch(/^(ECONNRESET|EPIPE)$/);
}, 30_000);

test('an unfinished request is ended, whether it stalls or goes on slowly', async () => {
  const { url } = await protectedServer({});
  /** What is received for a request that begins so, and goes on with `more` every 100 ms. */
  async function unfinished(beginning: string, more: string): Promise<string> {
    const { socket, ended } = await connected(url);
    socket.write(beginning);
    const writing = setInterval(() => socket.write(more), 100);
    const received = await ended;
    clearInterval(writing);
    return received;
  }
  const refused = await Promise.all([
    unfinished('', ''),
    unfinished('GET /met', ''),
    unfinished('GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ', 'x'),
  ]);
  for (const received of refused) {
    expect(received).toMatch(/^HTTP\/1\.1 408 /);
  }
}, 30_000);

/** A server with a scrape in progress, which ends with `finish`. */
async function scraping(changes: Partial<WebServerOptions> = {}) {
  const asked = Promise.withResolvers<void>();
  const parts = Promise.withResolvers<readonly Uint8Array[]>();
  function exposition(): Promise<readonly Uint8Array[]> {
    asked.resolve();
    return parts.promise;
  }
  const { server, url } = await protectedServer({}, { ...changes, exposition });
  const response = ask(url, '/metrics');
  await asked.promise;
  return { server, url, response, finish: () => parts.resolve([Buffer.from('whole\n')]) };
}

async function slowReader(url: string) {
  const reader = await connected(url);
  reader.socket.pause();
  reader.socket.write(SCRAPE);
  return reader;
}

test('slow readers do not delay another scrape; above the limit the status is 503 until one leaves', async () => {
  const exposition = vi.fn<WebServerOptions['exposition']>(() => Promise.resolve([LARGE]));
  const { url } = await protectedServer({}, { exposition });
  const readers = await Promise.all(Array.from({ length: MAX_SCRAPES - 1 }, () => slowReader(url)));
  await vi.waitUntil(() => exposition.mock.calls.length === MAX_SCRAPES - 1, WAIT);
  expect((await ask(url, '/metrics')).body).toHaveLength(LARGE.length);
  const last = await slowReader(url);
  await vi.waitUntil(() => exposition.mock.calls.length === MAX_SCRAPES + 1, WAIT);
  const { status, body } = await ask(url, '/metrics');
  expect([status, body]).toEqual([503, 'Too many scrapes in progress: the limit is 40\n']);
  expect((await ask(url, '/')).status).toBe(200);
  readers[0]?.socket.destroy();
  await vi.waitUntil(async () => (await ask(url, '/metrics')).status === 200, WAIT);
  last.socket.resume();
  await vi.waitUntil(() => last.socket.bytesRead > LARGE.length, WAIT);
}, 60_000);

test.each([
  ['http', undefined, undefined],
  ['https', tlsWith(certificate), authority.cert],
])('pipelined requests over %s hold one place for a scrape', async (_name, tls, ca) => {
  const exposition = vi
    .fn<WebServerOptions['exposition']>(() => Promise.resolve([]))
    .mockResolvedValueOnce([LARGE]);
  const { url } = await protectedServer({ tls }, { exposition });
  const reader = await connected(url, ca);
  reader.socket.pause();
  reader.socket.write(SCRAPE.repeat(MAX_SCRAPES));
  await vi.waitUntil(() => exposition.mock.calls.length > 0, WAIT);
  const others = await Promise.all(
    Array.from({ length: MAX_SCRAPES - 1 }, () => ask(url, '/metrics', { ca })),
  );
  expect(others.map(({ status }) => status)).toEqual(others.map(() => 200));
  expect((await ask(url, '/-/healthy', { ca })).status).toBe(200);
  expect(exposition).toHaveBeenCalledTimes(MAX_SCRAPES);
});

test('a pipelined request is refused after the response to the one before', async () => {
  const { url, finish } = await scraping();
  const { socket, ended } = await connected(url);
  socket.write(SCRAPE.repeat(2));
  finish();
  expect(await ended).toMatch(/whole\n[^]*\r\n\r\nOne request at a time\n$/);
});

test('a response that is not read whole within 30 s is cut off, even if some of it is read', async () => {
  const clock = new VirtualClock(0);
  const exposition = vi.fn<WebServerOptions['exposition']>(() => Promise.resolve([LARGE]));
  const { url } = await protectedServer({}, { exposition, clock });
  const stalled = await slowReader(url);
  const slow = await slowReader(url);
  await vi.waitUntil(() => exposition.mock.calls.length === 2, WAIT);
  await clock.advance(29_999);
  slow.socket.resume();
  await once(slow.socket, 'data');
  slow.socket.pause();
  expect(clock.sleepers).toBe(2);
  await clock.advance(1);
  for (const { socket, ended } of [stalled, slow]) {
    socket.resume();
    expect((await ended).length).toBeLessThan(LARGE.length);
  }
});

test('the limit of 30 s is that of one response, not of the connection', async () => {
  const clock = new VirtualClock(0);
  const { url } = await protectedServer({}, { clock });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const ports = new Set<number | undefined>();
  for (let i = 0; i < 3; i += 1) {
    const { status, localPort } = await ask(url, '/metrics', { agent });
    expect(status).toBe(200);
    ports.add(localPort);
    await clock.advance(20_000);
  }
  expect(ports.size).toBe(1);
  expect(clock.sleepers).toBe(0);
});

describe('stopping', () => {
  test('ends idle connections and cuts silent clients, half requests and slow readers', async () => {
    const exposition = vi.fn<WebServerOptions['exposition']>(() =>
      Promise.resolve([Buffer.concat([LARGE, LARGE])]),
    );
    const { server, url } = await protectedServer({}, { exposition });
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    await ask(url, '/-/ready', { agent });
    const silent = await connected(url);
    const half = await connected(url);
    half.socket.write('GET /metrics HTTP/1.1\r\nHos');
    const slow = await slowReader(url);
    await vi.waitUntil(() => exposition.mock.calls.length === 1, WAIT);
    await server.stop();
    slow.socket.resume();
    expect([await silent.ended, await half.ended]).toEqual(['', '']);
    expect((await slow.ended).length).toBeLessThan(2 * LARGE.length);
  });

  test('lets a response in progress finish', async () => {
    const { server, response, finish } = await scraping();
    const stopped = server.stop();
    finish();
    expect((await response).body).toBe('whole\n');
    await stopped;
  });
});
