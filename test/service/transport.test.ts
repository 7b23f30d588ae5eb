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

interface Outcome {
  readonly reason: FailureReason | 'good';
  readonly message: string;
  /** Of the data endpoint. */
  readonly codes: readonly string[];
}

/** What becomes of a query that gets this answer. It must leave no connection open. */
async function outcomeOf(answer: Answer, timeoutMs = 5_000): Promise<Outcome> {
  const { fake, harness } = await start({ config: { timeoutMs } });
  fake.data = answer;
  const outcome = await ask(harness.riverside).then(
    (response) => ({ reason: 'good' as const, message: JSON.stringify(response.rows) }),
    () => undefined,
  );
  const codes = harness.requests.slice(1).map((request) => request.split(':')[1] ?? '');
  if (outcome !== undefined) {
    return { ...outcome, codes };
  }
  const { reason, message } = await failureOf(ask(harness.riverside));
  await until(() => fake.sockets.size <= 1);
  return { reason, message, codes };
}

const CUT_GZIP = Buffer.concat([
  Buffer.from(`${OK}Content-Encoding: gzip\r\nContent-Length: 500\r\n\r\n`),
  gzipSync(GOOD).subarray(0, 40),
]);

test.for([
  ['in the head', 'HTTP/1.1 200 OK\r\nContent-Ty', 'unreachable', 'none'],
  ['in the body', `${OK}Content-Length: 50\r\n\r\n{"metadata":`, 'unreachable', '200'],
  ['before the last chunk', `${CHUNKED}2\r\n{}\r\n`, 'unreachable', '200'],
  ['in a compressed body', CUT_GZIP, 'unreachable', '200'],
  [
    'in an error answer',
    'HTTP/1.1 429 Too Many\r\nContent-Length: 50\r\n\r\n{"err',
    'rate_limited',
    '429',
  ],
] as const)('an answer that breaks off %s is retried as its reason', async (row) => {
  const [, bytes, expected, code] = row;
  for (const then of ['end', 'reset'] as const) {
    const { reason, codes } = await outcomeOf(raw(bytes, then));
    expect({ reason, codes }).toEqual({ reason: expected, codes: Array(4).fill(code) });
  }
});

describe('an answer that does not come is a timeout', () => {
  test.for<[string, Answer]>([
    ['at all', raw('')],
    ['beyond half of its body', raw(`${OK}Content-Length: 50\r\n\r\n{"metadata":`)],
    ['faster than drop by drop', drip],
  ])('%s', async ([, answer]) => {
    const { reason, message, codes } = await outcomeOf(answer, 100);
    expect(reason).toBe('timeout');
    expect(message).toMatch(
      /^GET \/v1\/peoplecount at 127\.0\.0\.1:\d+: no complete answer within 100ms$/,
    );
    expect(codes).toHaveLength(4);
  });
});

describe('an answer is malformed, and not requested again, when', () => {
  test.for<[string, Answer]>([
    ['it is not HTTP', raw('220 smtp ready\r\n\r\n', 'end')],
    ['its head is endless', endless(OK, 'X-Header: and so on\r\n')],
    ['it is longer than 8 MiB', body(GOOD + ' '.repeat(8 * MIB))],
    ['it is endless', endless(`${OK}\r\n{"result":[`, '{"key":1,"in":1,"out":1},')],
    ['gzip makes it 300 MiB', gzipped(gzipSync(Buffer.alloc(300 * MIB, 32)))],
    ['its gzip is cut off', gzipped(gzipSync(GOOD).subarray(0, -9))],
  ])('%s', async ([, answer]) => {
    const { reason, codes } = await outcomeOf(answer);
    expect({ reason, requests: codes.length }).toEqual({ reason: 'malformed', requests: 1 });
  });
});

test('an answer that changes the protocol is rejected', async () => {
  const head = 'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n';
  const { reason, codes } = await outcomeOf(raw(head));
  expect({ reason, codes }).toEqual({ reason: 'rejected', codes: ['101'] });
});

describe('an answer is good when', () => {
  test.for<[string, Answer]>([
    ['it is compressed with gzip', gzipped(gzipSync(GOOD))],
    ['interim answers come before it', raw(`HTTP/1.1 103 Hints\r\nX: y\r\n\r\n${WHOLE}`)],
    ['it ends with the connection', raw(`${OK}\r\n${GOOD}`, 'end')],
  ])('%s', async ([, answer]) => {
    expect(await outcomeOf(answer)).toEqual({
      reason: 'good',
      message: '[{"key":1,"counts":[3,1]}]',
      codes: ['200'],
    });
  });
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

test('the error of a service that cannot be reached names host and port', async () => {
  const gone = await startFakeService();
  await gone.close();
  const harness = createHarness(gone.url);
  const { reason, message } = await failureOf(ask(harness.riverside));
  expect(reason).toBe('unreachable');
  expect(message).toBe(`POST /connect/token at ${new URL(gone.url).host}: ECONNREFUSED`);
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
    expect(message).toMatch(
      /: [A-Z_]+ \(for a private certificate authority, set service\.ca_file\)$/,
    );
    expect(fake.asked).toEqual([]);
  });

  test('to a port that speaks plain HTTP is unreachable', async () => {
    const fake = await startFakeService();
    const harness = createHarness(fake.url.replace('http:', 'https:'));
    expect((await failureOf(ask(harness.riverside))).reason).toBe('unreachable');
  });
});

function gzipped(content: Uint8Array): Answer {
  return body(content, { 'content-encoding': 'gzip' });
}

function drip(_request: unknown, { socket }: Parameters<Answer>[1]): void {
  socket?.write(`${OK}Content-Length: 5000\r\n\r\n`);
  const timer = setInterval(() => socket?.write('{'), 10);
  socket?.on('close', () => clearInterval(timer));
}
