/** Connections that fail and responses that are none, over real sockets: the reason of each. */
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { FailureReason } from '../../src/base/errors.ts';
import { body, inTurn, peopleBody, status } from '../support/scripted-server.ts';
import type { Responder } from '../support/scripted-server.ts';
import {
  ask,
  AUTHORITY,
  certified,
  failureOf,
  start,
  until,
  virtualClock,
} from './support/harness.ts';

const MIB = 1024 * 1024;
const GOOD = JSON.stringify(peopleBody([{ key: 1, in: 3, out: 1 }]));
const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const WHOLE = `${OK}Content-Length: ${GOOD.length}\r\n\r\n${GOOD}`;
const HALF = `${OK}Content-Length: 50\r\n\r\n{"metadata":`;
const LIMITED = 'HTTP/1.1 429 Too Many\r\nContent-Length: 50\r\n\r\n{"err';
const SWITCHED = 'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n';

const CUT_GZIP = Buffer.concat([
  Buffer.from(`${OK}Content-Encoding: gzip\r\nContent-Length: 500\r\n\r\n`),
  gzipSync(GOOD).subarray(0, 40),
]);

function gzipped(content: Uint8Array): Responder {
  return body(content, { 'content-encoding': 'gzip' });
}

/** Sends bytes in place of an HTTP response. */
function raw(bytes: string | Uint8Array, then: 'end' | 'reset' | 'stay' = 'stay'): Responder {
  return (_request, { socket }) => {
    if (then === 'end') {
      socket?.end(bytes);
    } else {
      socket?.write(bytes, () => then === 'reset' && socket.resetAndDestroy());
    }
  };
}

function drip(_request: unknown, { socket }: Parameters<Responder>[1]): void {
  socket?.write(`${OK}Content-Length: 5000\r\n\r\n`);
  const timer = setInterval(() => socket?.write('{'), 10);
  socket?.on('close', () => clearInterval(timer));
}

/** The reason of a query that fails, and the codes of its requests. It must leave no connection open. */
async function failureAfter(data: Responder, timeoutMs = 5_000, maxAttempts = 4) {
  const { server, harness } = await start({ data, config: { timeoutMs } });
  const client = harness.clientFor('riverside', { maxAttempts, maxWaitMs: 0 });
  const { reason, message } = await failureOf(ask(client));
  await until(() => server.sockets.size <= 1);
  const codes = harness.requests.slice(1).map((request) => request.replace('peoplecount:', ''));
  return { message, outcome: [reason, ...codes] };
}

test.for([
  ['in the head', 'HTTP/1.1 200 OK\r\nContent-Ty', 'unreachable', 'none'],
  ['in the body', HALF, 'unreachable', '200'],
  ['in a compressed body', CUT_GZIP, 'unreachable', '200'],
  ['in an error response', LIMITED, 'rate_limited', '429'],
] as const)('a response that breaks off %s is retried', async ([, bytes, reason, code]) => {
  for (const then of ['end', 'reset'] as const) {
    const { outcome } = await failureAfter(raw(bytes, then));
    expect(outcome).toEqual([reason, code, code, code, code]);
  }
});

test('a response that does not come at all, whole or fast is a timeout', async () => {
  for (const [response, code] of [
    [raw(''), 'none'],
    [raw(HALF), '200'],
    [drip, '200'],
  ] as const) {
    const { outcome, message } = await failureAfter(response, 400, 1);
    expect(outcome).toEqual(['timeout', code]);
    expect(message).toMatch(/^GET http:.*\/v1\/peoplecount: no complete response within 400ms$/);
  }
});

test.for<[string, Responder, string, FailureReason?]>([
  ['is not HTTP', raw('220 smtp ready\r\n\r\n', 'end'), 'none'],
  ['is longer than 8 MiB', body(GOOD + ' '.repeat(8 * MIB)), '200'],
  ['is 30 MiB of gzip', gzipped(gzipSync(Buffer.alloc(30 * MIB, 32))), '200'],
  ['is gzip that is cut off', gzipped(gzipSync(GOOD).subarray(0, -9)), '200'],
  ['changes the protocol', raw(SWITCHED), '101', 'rejected'],
])('a response that %s is final', async ([, response, code, reason = 'malformed']) => {
  expect((await failureAfter(response)).outcome).toEqual([reason, code]);
});

test.for<[string, Responder]>([
  ['is compressed with gzip', gzipped(gzipSync(GOOD))],
  ['comes after interim responses', raw(`HTTP/1.1 103 Hints\r\nX: y\r\n\r\n${WHOLE}`)],
  ['ends with the connection', raw(`${OK}\r\n${GOOD}`, 'end')],
])('a response that %s is good', async ([, data]) => {
  const { harness } = await start({ data });
  expect((await ask(harness.riverside)).rows).toEqual([{ key: 1, counts: [3, 1] }]);
  expect(harness.requests).toEqual(['token:200', 'peoplecount:200']);
});

test.for<[string, Responder]>([
  ['status 204', status(204)],
  ['an empty body', status(200)],
])('%s means that there are no rows, and keeps its connection', async ([, data]) => {
  const { server, harness } = await start({ data });
  for (let poll = 0; poll < 2; poll += 1) {
    expect(await ask(harness.riverside)).toEqual({ aggregation: 'minute', rows: [], metadata: {} });
  }
  expect(server.connections).toBe(1);
});

test('a kept connection that the service closes costs a retry', async () => {
  const data = inTurn<Parameters<Responder>, void>((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(GOOD, () => response.socket?.destroy());
  }, body(GOOD));
  const { harness } = await start({ data });
  await ask(harness.riverside);
  expect((await ask(harness.riverside)).rows).toHaveLength(1);
});

describe('a connection', () => {
  test('is closed after an error, for data and for tokens', async () => {
    const { server, harness } = await start();
    const client = harness.clientFor('riverside', { maxAttempts: 1, maxWaitMs: 0 });
    for (const endpoint of ['token', 'data'] as const) {
      const { [endpoint]: good, connections } = server;
      server[endpoint] = status(503);
      await failureOf(ask(client));
      await until(() => server.sockets.size === 0);
      expect(server.connections).toBe(connections + 1);
      server[endpoint] = good;
    }
  });

  test('is closed five minutes after its first response, idle or not', async () => {
    const clock = virtualClock();
    const { server, harness } = await start({ clock });
    await ask(harness.riverside);
    await clock.advance(299_999);
    await ask(harness.riverside);
    expect(server.connections).toBe(1);
    await clock.advance(1);
    await until(() => server.sockets.size === 0);
    await ask(harness.riverside);
    expect(server.connections).toBe(2);
  });
});

test('the error of a service that cannot be reached names its URL', async () => {
  const { server, harness } = await start();
  await server.close();
  const { reason, message } = await failureOf(ask(harness.riverside));
  expect(reason).toBe('unreachable');
  expect(message).toBe(`POST ${server.url}/connect/token: ECONNREFUSED`);
  expect(harness.requests).toEqual(Array(4).fill('token:none'));
});

describe('TLS', () => {
  test('trusts the certificate authority of the configuration', async () => {
    const { harness } = await start({ tls: await certified(), config: { ca: AUTHORITY } });
    expect((await ask(harness.riverside)).rows).toHaveLength(1);
  });

  test.for([
    ['of an unknown authority', {}, undefined],
    ['for another host', { hosts: ['elsewhere.example.org'] }, AUTHORITY],
  ] as const)('with a certificate %s ends before anything is sent', async ([, changes, ca]) => {
    const { server, harness } = await start({ tls: await certified(changes), config: { ca } });
    const { reason, message } = await failureOf(ask(harness.riverside));
    expect(reason).toBe('unreachable');
    expect(message).toMatch(/: [A-Z_]+ \(.*set service\.ca_file\)$/);
    expect(server.received).toEqual([]);
  });
});
