/** Connections that fail and answers that are none, over real sockets: the reason of each. */
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { FailureReason } from '../../src/base/errors.ts';
import {
  AUTHORITY,
  body,
  endless,
  inTurn,
  peopleAnswer,
  raw,
  startFakeService,
} from './support/fake-service.ts';
import type { Answer, CertificateName } from './support/fake-service.ts';
import { ask, createHarness, failureOf, until, start } from './support/harness.ts';

const MIB = 1024 * 1024;
const GOOD = JSON.stringify(peopleAnswer([{ key: 1, in: 3, out: 1 }]));
const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const WHOLE = `${OK}Content-Length: ${GOOD.length}\r\n\r\n${GOOD}`;
const HALF = `${OK}Content-Length: 50\r\n\r\n{"metadata":`;
const LIMITED = 'HTTP/1.1 429 Too Many\r\nContent-Length: 50\r\n\r\n{"err';
const SWITCHED = 'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n';

const CUT_GZIP = Buffer.concat([
  Buffer.from(`${OK}Content-Encoding: gzip\r\nContent-Length: 500\r\n\r\n`),
  gzipSync(GOOD).subarray(0, 40),
]);

function gzipped(content: Uint8Array): Answer {
  return body(content, { 'content-encoding': 'gzip' });
}

function drip(_request: unknown, { socket }: Parameters<Answer>[1]): void {
  socket?.write(`${OK}Content-Length: 5000\r\n\r\n`);
  const timer = setInterval(() => socket?.write('{'), 10);
  socket?.on('close', () => clearInterval(timer));
}

/** The reason of a query that fails, and the codes of its requests. It must leave no connection open. */
async function failureAfter(answer: Answer, timeoutMs = 5_000) {
  const { fake, harness } = await start({ config: { timeoutMs } });
  fake.data = answer;
  const { reason, message } = await failureOf(ask(harness.riverside));
  await until(() => fake.sockets.size <= 1);
  const codes = harness.requests.slice(1).map((request) => request.replace('peoplecount:', ''));
  return { message, outcome: [reason, ...codes] };
}

test.for([
  ['in the head', 'HTTP/1.1 200 OK\r\nContent-Ty', 'unreachable', 'none'],
  ['in the body', HALF, 'unreachable', '200'],
  ['before the last chunk', `${CHUNKED}2\r\n{}\r\n`, 'unreachable', '200'],
  ['in a compressed body', CUT_GZIP, 'unreachable', '200'],
  ['in an error answer', LIMITED, 'rate_limited', '429'],
] as const)('an answer that breaks off %s is retried as its reason', async (row) => {
  const [, bytes, reason, code] = row;
  for (const then of ['end', 'reset'] as const) {
    const { outcome } = await failureAfter(raw(bytes, then));
    expect(outcome).toEqual([reason, code, code, code, code]);
  }
});

test.for<[string, Answer, string]>([
  ['at all', raw(''), 'none'],
  ['beyond half of its body', raw(HALF), '200'],
  ['faster than drop by drop', drip, '200'],
])('an answer that does not come %s is a timeout', async ([, answer, code]) => {
  const { outcome, message } = await failureAfter(answer, 100);
  expect(outcome).toEqual(['timeout', code, code, code, code]);
  expect(message).toMatch(
    /^GET http:\/\/127\.0\.0\.1:\d+\/v1\/peoplecount: no complete response within 100ms$/,
  );
});

test.for<[string, Answer, string, FailureReason?]>([
  ['is not HTTP', raw('220 smtp ready\r\n\r\n', 'end'), 'none'],
  ['has an endless head', endless(OK, 'X-Header: and so on\r\n'), 'none'],
  ['is longer than 8 MiB', body(GOOD + ' '.repeat(8 * MIB)), '200'],
  ['is endless', endless(`${OK}\r\n{"result":[`, '{"key":1,"in":1,"out":1},'), '200'],
  ['is 300 MiB of gzip', gzipped(gzipSync(Buffer.alloc(300 * MIB, 32))), '200'],
  ['is gzip that is cut off', gzipped(gzipSync(GOOD).subarray(0, -9)), '200'],
  ['changes the protocol', raw(SWITCHED), '101', 'rejected'],
])('an answer that %s is not requested again', async ([, answer, code, reason = 'malformed']) => {
  expect((await failureAfter(answer)).outcome).toEqual([reason, code]);
});

test.for<[string, Answer]>([
  ['is compressed with gzip', gzipped(gzipSync(GOOD))],
  ['comes after interim answers', raw(`HTTP/1.1 103 Hints\r\nX: y\r\n\r\n${WHOLE}`)],
  ['ends with the connection', raw(`${OK}\r\n${GOOD}`, 'end')],
])('an answer that %s is good', async ([, answer]) => {
  const { fake, harness } = await start();
  fake.data = answer;
  expect((await ask(harness.riverside)).rows).toEqual([{ key: 1, counts: [3, 1] }]);
  expect(harness.requests).toEqual(['token:200', 'peoplecount:200']);
});

test('a kept connection that the service closes costs a retry', async () => {
  const { fake, harness } = await start();
  fake.data = inTurn((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(GOOD, () => response.socket?.destroy());
  }, body(GOOD));
  await ask(harness.riverside);
  expect((await ask(harness.riverside)).rows).toHaveLength(1);
});

test('the error of a service that cannot be reached names its URL', async () => {
  const gone = await startFakeService();
  await gone.close();
  const harness = createHarness(gone.url);
  const { reason, message } = await failureOf(ask(harness.riverside));
  expect(reason).toBe('unreachable');
  expect(message).toBe(`POST ${gone.url}/connect/token: ECONNREFUSED`);
  expect(harness.requests).toEqual(Array(4).fill('token:none'));
});

describe('TLS', () => {
  test('trusts the certificate authority of the configuration', async () => {
    const fake = await startFakeService({ certificate: 'good' });
    const harness = createHarness(fake.url, { config: { ca: AUTHORITY } });
    expect((await ask(harness.riverside)).rows).toHaveLength(1);
  });

  test.for<[string, CertificateName, string | undefined]>([
    ['of an unknown authority', 'good', undefined],
    ['that has expired', 'expired', AUTHORITY],
    ['for another host', 'wrong-name', AUTHORITY],
  ])('with a certificate %s is unreachable, and nothing is sent', async ([, certificate, ca]) => {
    const fake = await startFakeService({ certificate });
    const harness = createHarness(fake.url, { config: { ca } });
    const { reason, message } = await failureOf(ask(harness.riverside));
    expect(reason).toBe('unreachable');
    expect(message).toMatch(/: [A-Z_]+ \(.*set service\.ca_file\)$/);
    expect(fake.asked).toEqual([]);
  });

  test('to a port that speaks plain HTTP is unreachable', async () => {
    const { url } = await startFakeService();
    const harness = createHarness(url.replace('http:', 'https:'));
    expect((await failureOf(ask(harness.riverside))).reason).toBe('unreachable');
  });
});
