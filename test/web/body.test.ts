/** Answers of many parts, over real sockets. */
import { once } from 'node:events';
import { Agent } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { connected, ask, protectedServer } from './protected.ts';

/** Small ones and large ones, and some that are empty: nine megabytes in all. */
const PARTS = Array.from({ length: 600 }, (_, i) =>
  Buffer.alloc(i % 7 === 0 ? 0 : (i * 97) % 35_000, String.fromCharCode(97 + (i % 26))),
);
const TEXT = Buffer.concat(PARTS).toString();

function manyParts(): Promise<readonly Uint8Array[]> {
  return Promise.resolve(PARTS);
}

test('the parts arrive as one answer, in their order, with the length told before', async () => {
  const { url } = await protectedServer({}, { exposition: manyParts });
  const { status, headers, body } = await ask(url, '/metrics');
  expect([status, headers['content-length']]).toEqual([200, String(TEXT.length)]);
  expect(body === TEXT).toBe(true);
});

test('HEAD tells the length and sends nothing, and the connection goes on', async () => {
  const { url } = await protectedServer({}, { exposition: manyParts });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const head = await ask(url, '/metrics', { method: 'HEAD', agent });
  expect([head.headers['content-length'], head.body]).toEqual([String(TEXT.length), '']);
  expect((await ask(url, '/metrics', { agent })).body === TEXT).toBe(true);
});

test('an answer without a byte is whole, too', async () => {
  const { url } = await protectedServer({}, { exposition: () => Promise.resolve([]) });
  const { status, headers, body } = await ask(url, '/metrics');
  expect([status, headers['content-length'], body]).toEqual([200, '0', '']);
});

test('a reader who leaves in the middle is no fault, and others read on', async () => {
  const { url } = await protectedServer({}, { exposition: manyParts });
  for (let i = 0; i < 5; i += 1) {
    const { socket } = await connected(url);
    socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'data');
    socket.destroy();
  }
  expect((await ask(url, '/metrics')).body === TEXT).toBe(true);
});
