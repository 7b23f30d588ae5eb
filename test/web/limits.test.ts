/** What a client that is slow, silent or many costs the others: nothing. Over real sockets. */
import { Agent } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { ask, connected, GOOD, protectedServer, USERS } from './protected.ts';
import type { RawConnection } from './protected.ts';

const LARGE = Buffer.alloc(16 * 1_024 * 1_024, 'x');
const SCRAPE = 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n';
const MOST_SCRAPES = 40;
const MOST_CONNECTIONS = 512;
/** On a machine that does other things too. */
const PATIENT = { timeout: 20_000 };

/** Asks for an answer and does not read it. */
async function slowReader(url: string): Promise<RawConnection> {
  const reader = await connected(url);
  reader.socket.pause();
  reader.socket.write(SCRAPE);
  return reader;
}

/** What comes back for a beginning that drips on, or does not, until the server ends it. */
async function unfinished(url: string, beginning: string, drip: string): Promise<string> {
  const { socket, ended } = await connected(url);
  socket.write(beginning);
  const dripping = setInterval(() => socket.write(drip), 100);
  const text = await ended;
  clearInterval(dripping);
  return text;
}

test('a request that is not finished is ended, however it goes on', async () => {
  const { url } = await protectedServer({ users: USERS });
  const reload = `POST /-/reload HTTP/1.1\r\nHost: x\r\nAuthorization: ${GOOD.authorization}\r\n`;
  const [body, ...heads] = await Promise.all([
    unfinished(url, `${reload}Content-Length: 900\r\n\r\n`, 'x'),
    unfinished(url, '', ''),
    unfinished(url, 'GET /met', ''),
    unfinished(url, 'GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ', ''),
    unfinished(url, 'GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ', 'x'),
  ]);
  const timeout = /^HTTP\/1\.1 408 [^]*\r\n\r\nRequest Timeout\n$/;
  expect(heads).toEqual(heads.map(() => expect.stringMatching(timeout)));
  expect(body).not.toContain('config reloaded');
}, 30_000);

describe('slow readers', () => {
  test('do not hold up another scrape', async () => {
    const { url } = await protectedServer({}, { exposition: () => Promise.resolve([LARGE]) });
    await Promise.all(Array.from({ length: MOST_SCRAPES - 1 }, () => slowReader(url)));
    for (let i = 0; i < 3; i += 1) {
      expect((await ask(url, '/metrics')).body).toHaveLength(LARGE.length);
    }
  });

  test('who fill every place lose the oldest once it has had its time', async () => {
    let nowMs = 0;
    let scrapes = 0;
    const { url } = await protectedServer(
      {},
      {
        clock: { ...systemClock, monotonicMs: () => nowMs },
        exposition() {
          scrapes += 1;
          return Promise.resolve([LARGE]);
        },
      },
    );
    const oldest = await slowReader(url);
    await vi.waitUntil(() => scrapes === 1, PATIENT);
    nowMs = 1_000;
    const others = await Promise.all(
      Array.from({ length: MOST_SCRAPES - 1 }, () => slowReader(url)),
    );
    await vi.waitUntil(() => scrapes === MOST_SCRAPES, PATIENT);
    const refused = await ask(url, '/metrics');
    expect([refused.status, refused.body]).toEqual([503, 'Too many scrapes are under way\n']);
    expect((await ask(url, '/')).status).toBe(200);
    nowMs = 10_000;
    expect((await ask(url, '/metrics')).body).toHaveLength(LARGE.length);
    oldest.socket.resume();
    expect((await oldest.ended).length).toBeLessThan(LARGE.length);
    const [other] = others;
    other?.socket.resume();
    await vi.waitUntil(() => (other?.socket.bytesRead ?? 0) > LARGE.length, PATIENT);
  });

  test('who leave give their places back', async () => {
    const { url } = await protectedServer(
      {},
      {
        clock: { ...systemClock, monotonicMs: () => 0 },
        exposition: () => Promise.resolve([LARGE]),
      },
    );
    const readers = await Promise.all(Array.from({ length: MOST_SCRAPES }, () => slowReader(url)));
    await vi.waitUntil(async () => (await ask(url, '/metrics')).status === 503, PATIENT);
    readers[0]?.socket.destroy();
    await vi.waitUntil(async () => (await ask(url, '/metrics')).status === 200, PATIENT);
    expect(readers).toHaveLength(MOST_SCRAPES);
  });
});

test('connections that are kept and not used make room for others', async () => {
  const { url } = await protectedServer({});
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity, maxFreeSockets: Infinity });
  onTestFinished(() => agent.destroy());
  const kept = Array.from({ length: MOST_CONNECTIONS }, () => ask(url, '/-/ready', { agent }));
  expect(new Set((await Promise.all(kept)).map(({ status }) => status))).toEqual(new Set([200]));
  // The first one more may be turned away; not those after it.
  await vi.waitUntil(() =>
    ask(url, '/metrics').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
});

test('nobody without a password keeps a connection', async () => {
  const { url } = await protectedServer({ users: USERS });
  for (const path of ['/metrics', '/-/healthy', '/-/ready']) {
    const { socket, ended } = await connected(url);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n`);
    expect(await ended).toMatch(/^HTTP\/1\.1 (200|401) [^]*\r\nconnection: close\r\n/i);
  }
});
