/** Slow, silent and many clients do not keep others out. Over real sockets. */
import { once } from 'node:events';
import { Agent } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { WebServerOptions } from '../../src/web/server.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { ask, connected, protectedServer, urlOf } from './protected.ts';

const SCRAPE = 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n';
const MAX_SCRAPES = 40;
const LARGE = Buffer.alloc(16 * 1_024 * 1_024, 'x');
const WAIT = { interval: 5, timeout: 20_000 };

async function slowReader(url: string) {
  const reader = await connected(url);
  reader.socket.pause();
  reader.socket.write(SCRAPE);
  return reader;
}

test('slow readers do not delay another scrape; above the limit the status is 503 until one leaves', async () => {
  const exposition = vi.fn<WebServerOptions['exposition']>(() => Promise.resolve([LARGE]));
  const { url } = await protectedServer({}, { exposition });
  const readers = await Promise.all(Array.from({ length: MAX_SCRAPES }, () => slowReader(url)));
  await vi.waitUntil(() => exposition.mock.calls.length === MAX_SCRAPES, WAIT);
  const { status, body } = await ask(url, '/metrics');
  expect([status, body]).toEqual([503, 'Too many scrapes in progress: the limit is 40\n']);
  expect((await ask(url, '/')).status).toBe(200);
  readers[0]?.socket.destroy();
  await vi.waitUntil(async () => (await ask(url, '/metrics')).body.length === LARGE.length, WAIT);
}, 60_000);

test('a pipelined request is refused after the response to the one before', async () => {
  const { socket, ended } = await connected(await urlOf());
  socket.write(SCRAPE.repeat(2));
  expect(await ended).toMatch(/text gzip=false\n[^]*\r\n\r\nOne request at a time\n$/);
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
    const exposition = vi.fn<WebServerOptions['exposition']>(() => Promise.resolve([LARGE, LARGE]));
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
    const parts = Promise.withResolvers<readonly Uint8Array[]>();
    const exposition = vi.fn<WebServerOptions['exposition']>(() => parts.promise);
    const { server, url } = await protectedServer({}, { exposition });
    const response = ask(url, '/metrics');
    await vi.waitUntil(() => exposition.mock.calls.length === 1, WAIT);
    const stopped = server.stop();
    parts.resolve([Buffer.from('whole\n')]);
    expect((await response).body).toBe('whole\n');
    await stopped;
  });
});
