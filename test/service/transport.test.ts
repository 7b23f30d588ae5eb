/** Connections that break and answers that are no answers, over real sockets. */
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  inTurn,
  json,
  peopleAnswer,
  startFakeService,
  startRawServer,
  TOKEN,
} from './support/fake-service.ts';
import type { Answer } from './support/fake-service.ts';
import { ask, createHarness, failureOf, QUESTION } from './support/harness.ts';

const ROWS = [{ key: 1, in: 3, out: 1 }];
const MIB = 1024 * 1024;

function body(
  content: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    response.end(content);
  };
}

/** The token comes from a good service, the data from a server that gets everything wrong. */
async function askingRaw(
  onRequest: (socket: Socket) => void,
  timeoutMs = 5_000,
): Promise<{ reason: string; requests: string[] }> {
  await using raw = await startRawServer(onRequest);
  await using fake = await startFakeService();
  using harness = createHarness(raw.url, { config: { authUrl: fake.url, timeoutMs } });
  const { reason } = await failureOf(ask(harness.riverside));
  // Nothing stays open: a test that waits here in vain fails.
  while (raw.sockets.size > 0) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return { reason, requests: harness.requests.slice(1) };
}

describe('a service that cannot be reached', () => {
  test('because nobody listens is unreachable, after all attempts', async () => {
    const gone = await startFakeService();
    await gone[Symbol.asyncDispose]();
    using harness = createHarness(gone.url);
    const error = await failureOf(ask(harness.riverside));
    expect(error.reason).toBe('unreachable');
    expect(error.message).toBe('POST /connect/token: the connection was refused (ECONNREFUSED)');
    expect(harness.requests).toEqual(Array(4).fill('token:none'));
  });

  test('because its name is unknown is unreachable', async () => {
    using harness = createHarness('http://no-such-host.invalid');
    const error = await failureOf(ask(harness.riverside));
    expect(error.reason).toBe('unreachable');
    expect(error.message).toMatch(/the host name .*\((ENOTFOUND|EAI_AGAIN)\)$/);
  });
});

describe('an answer that is cut off', () => {
  test.for([
    ['before the head', '', 'none'],
    ['in the head', 'HTTP/1.1 200 OK\r\nContent-Ty', 'none'],
    ['after the head', 'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n', '200'],
    ['in the body', 'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"metadata":', '200'],
    ['in a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{', '200'],
    [
      'before the last chunk',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n',
      '200',
    ],
  ] as const)('%s is unreachable', async ([, sent, code]) => {
    const ended = await askingRaw((socket) => socket.end(sent));
    expect(ended).toMatchObject({ reason: 'unreachable' });
    expect(ended.requests).toEqual(Array(4).fill(`peoplecount:${code}`));
    const reset = await askingRaw((socket) => {
      socket.write(sent, () => socket.resetAndDestroy());
    });
    expect(reset.reason).toBe('unreachable');
  });

  test('in the body of an error is that error', async () => {
    const { reason, requests } = await askingRaw((socket) =>
      socket.end('HTTP/1.1 429 Too Many\r\nContent-Length: 50\r\n\r\n{"err'),
    );
    expect(reason).toBe('rate_limited');
    expect(requests).toEqual(Array(4).fill('peoplecount:429'));
  });
});

describe('an answer that does not come', () => {
  test.for([
    ['at all', ''],
    ['beyond its head', 'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n'],
    ['beyond half of it', 'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"metadata":'],
    ['beyond 1xx', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n'],
  ] as const)('%s is a timeout', async ([, sent]) => {
    const { reason, requests } = await askingRaw((socket) => socket.write(sent), 100);
    expect(reason).toBe('timeout');
    expect(requests).toHaveLength(4);
  });

  test('faster than a drop at a time is a timeout', async () => {
    const drips = new Set<NodeJS.Timeout>();
    const { reason } = await askingRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n');
      drips.add(setInterval(() => socket.write('{'), 10));
    }, 150);
    for (const drip of drips) {
      clearInterval(drip);
    }
    expect(reason).toBe('timeout');
  });
});

describe('an answer that is no HTTP, or not the one asked for', () => {
  test('is malformed and not asked for again', async () => {
    const { reason, requests } = await askingRaw((socket) => socket.end('220 smtp ready\r\n\r\n'));
    expect(reason).toBe('malformed');
    expect(requests).toEqual(['peoplecount:none']);
  });

  test('is rejected when it changes the protocol', async () => {
    const { reason, requests } = await askingRaw((socket) =>
      socket.write('HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
    );
    expect({ reason, requests }).toEqual({ reason: 'rejected', requests: ['peoplecount:101'] });
  });

  test('is malformed when its head is endless', async () => {
    const { reason } = await askingRaw((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nX: ${'y'.repeat(70_000)}`),
    );
    expect(reason).toBe('malformed');
  });
});

describe('the body', () => {
  const good = JSON.stringify(peopleAnswer(ROWS));

  test('may be compressed with gzip', async () => {
    await using fake = await startFakeService();
    fake.data = body(gzipSync(good), { 'content-encoding': 'gzip' });
    using harness = createHarness(fake.url);
    expect((await ask(harness.riverside)).rows).toEqual([{ key: 1, counts: [3, 1] }]);
    expect(fake.asked.at(-1)?.headers['accept-encoding']).toBe('gzip');
  });

  test.for([
    ['cut off inside gzip', gzipSync(good).subarray(0, 30), 'gzip', 'is damaged'],
    ['not gzip at all', good, 'gzip', 'is damaged'],
    ['in a compression not asked for', good, 'br', 'only gzip is'],
    ['in gzip a thousand times over', good, 'gzip,'.repeat(1000), 'only gzip is'],
    ['a bomb', gzipSync(Buffer.alloc(300 * MIB, 32)), 'gzip', 'longer than 8 MiB'],
    ['too long', Buffer.alloc(8 * MIB + 1, 32), 'identity', 'longer than 8 MiB'],
  ] as const)('is malformed when %s', async ([, content, encoding, words]) => {
    await using fake = await startFakeService();
    fake.data = body(content, { 'content-encoding': encoding });
    using harness = createHarness(fake.url);
    const error = await failureOf(ask(harness.riverside));
    expect(error).toMatchObject({ reason: 'malformed', status: 200 });
    expect(error.message).toContain(words);
    expect(harness.requests).toEqual(['token:200', 'peoplecount:200']);
  });

  test('is cut off while it comes, not after it', async () => {
    await using fake = await startFakeService();
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    fake.data = (_request, response) => {
      response.on('close', resolve).writeHead(200, { 'content-type': 'application/json' });
      function more(): void {
        while (!response.destroyed && response.write('['.repeat(MIB))) {
          // Until the buffer is full.
        }
      }
      response.on('drain', more);
      more();
    };
    using harness = createHarness(fake.url);
    expect((await failureOf(ask(harness.riverside))).reason).toBe('malformed');
    await closed;
  });
});

describe('failing polls', () => {
  test('do not leave connections behind', async () => {
    await using raw = await startRawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{');
    });
    await using fake = await startFakeService();
    const config = { authUrl: fake.url, timeoutMs: 50 };
    using harness = createHarness(raw.url, { config });
    for (let i = 0; i < 20; i += 1) {
      await failureOf(ask(harness.riverside));
    }
    expect(raw.sockets.size).toBeLessThanOrEqual(2);
    expect(fake.connections()).toBeLessThanOrEqual(2);
  });
});

describe('a connection that the service closed meanwhile', () => {
  test('costs a retry and no reading', async () => {
    await using fake = await startFakeService();
    fake.data = inTurn(
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(peopleAnswer(ROWS)), () => response.socket?.destroy());
      },
      json(200, peopleAnswer(ROWS)),
    );
    using harness = createHarness(fake.url);
    await ask(harness.riverside);
    expect((await ask(harness.riverside, QUESTION)).rows).toHaveLength(1);
    expect(fake.asked.at(-1)?.headers.authorization).toBe(`Bearer ${TOKEN}`);
  });
});
