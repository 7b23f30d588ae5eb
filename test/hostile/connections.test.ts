/** Connections that fail, hang and break, and answers that are no HTTP: at /metrics, with their reason. */
import type { Socket } from 'node:net';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { bytes, bytesAndEnd, bytesAndReset, drip, stream } from './support/bytes.ts';
import { failuresOf } from './support/figures.ts';
import type { Exchange, Misbehaviour } from './support/hostile-service.ts';
import { accepts, answering, DATA, suffers } from './support/suffer.ts';
import type { Suffering } from './support/suffer.ts';
import { expectWell, World } from './support/world.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
/** Of requests that hang: short, because four attempts of both streams wait for it. */
const SHORT_TIMEOUT_MS = 60;

test('a connection that is refused is unreachable', async () => {
  expect(
    await suffers({
      reason: 'unreachable',
      begin: ({ service }) => service.stop(),
      end: ({ service }) => service.start(),
    }),
  ).toEqual([]);
});

describe('a connection that is unreachable, because it is', () => {
  test.for<[string, (socket: Socket) => void]>([
    ['reset when it opens', (socket) => socket.resetAndDestroy()],
    ['closed when it opens', (socket) => socket.end()],
    ['closed once something was sent', (socket) => socket.once('data', () => socket.end())],
  ])('%s', async ([, onConnection]) => {
    expect(await suffers({ reason: 'unreachable', ...connecting(onConnection) })).toEqual([]);
  });

  test.for([
    ['before the head', ''],
    ['in the status line', 'HTTP/1.1 2'],
    ['in the head', 'HTTP/1.1 200 OK\r\nContent-Ty'],
    ['after the head', `${OK}Content-Length: 50\r\n\r\n`],
    ['in the body', `${OK}Content-Length: 50\r\n\r\n{"metadata":`],
    ['in a chunk', `${OK}Transfer-Encoding: chunked\r\n\r\nff\r\n{`],
    ['before the last chunk', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n`],
    ['after interim answers', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n'],
  ] as const)('reset or closed %s', async ([, sent]) => {
    expect(await suffers({ reason: 'unreachable', ...answering(bytesAndReset(sent)) })).toEqual([]);
    expect(await suffers({ reason: 'unreachable', ...answering(bytesAndEnd(sent)) })).toEqual([]);
  });
});

describe('an answer is a timeout when', () => {
  test.for<[string, Misbehaviour]>([
    ['it never comes', () => {}],
    ['its head does not end', bytes('HTTP/1.1 200 OK\r\nX-Some: ')],
    ['its head is all there is', bytes(`${OK}Content-Length: 50\r\n\r\n`)],
    ['half of its body is missing', bytes(`${OK}Content-Length: 50\r\n\r\n{"metadata":`)],
    ['its last chunk is missing', bytes(`${OK}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n`)],
    ['its head drips', drip(OK, 'X-A: b\r\n', 5)],
    ['its body drips', drip(`${OK}Content-Length: 5000\r\n\r\n`, ' ', 5)],
    ['interim answers are all that comes', drip('', 'HTTP/1.1 100 Continue\r\n\r\n', 5)],
    ['interim answers come without end', stream(() => endless('HTTP/1.1 103 Hints\r\n\r\n'))],
  ])('%s', async ([, behave]) => {
    expect(
      await suffers({ reason: 'timeout', timeoutMs: SHORT_TIMEOUT_MS, ...answering(behave) }),
    ).toEqual([]);
  });
});

describe('an answer is malformed, because', () => {
  test.for<[string, Misbehaviour]>([
    ['it is the greeting of a mail server', bytesAndEnd('220 mail ready\r\n\r\n')],
    ['it has no head', bytesAndEnd('{"metadata":{},"result":[]}\r\n\r\n')],
    ['it is zeros', bytesAndEnd(Buffer.alloc(4096))],
    ['its version is unknown', bytesAndEnd('HTTP/9.9 200 OK\r\n\r\n')],
    ['its status is no number', bytesAndEnd('HTTP/1.1 OK\r\n\r\n')],
    ['its status has four digits', bytesAndEnd('HTTP/1.1 2000 OK\r\n\r\n')],
    ['its length is negative', bytes(`${OK}Content-Length: -1\r\n\r\n`)],
    ['its length is no number', bytes(`${OK}Content-Length: many\r\n\r\n`)],
    ['its length is beyond all numbers', bytes(`${OK}Content-Length: ${'9'.repeat(40)}\r\n\r\n`)],
    ['it has two lengths', bytes(`${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`)],
    ['a length and chunks', bytes(`${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n`)],
    ['a chunk has no size', bytes(`${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}`)],
    ['a header holds a zero', bytes(`${OK}X: a\0b\r\n\r\n`)],
    ['its head is endless', stream(() => endless('X-Header: and so on\r\n', OK))],
    ['a header is endless', stream(() => endless('and so on ', `${OK}X: `))],
    ['its trailers are endless', stream(() => endless('X: y\r\n', chunked('0\r\n')))],
    ['a chunk is endless in its size line', stream(() => endless('x', chunked('1;')))],
  ])('%s', async ([, behave]) => {
    expect(await suffers({ reason: 'malformed', ...answering(behave) })).toEqual([]);
  });
});

test('an answer that changes the protocol is rejected', async () => {
  const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n';
  expect(await suffers({ reason: 'rejected', ...answering(bytes(head)) })).toEqual([]);
});

describe('an answer is good when', () => {
  test.for<[string, Misbehaviour]>([
    ['interim answers come before it', interimFirst],
    ['it ends with the connection', ({ socket, good }) => void socket.end(`${OK}\r\n${good}`)],
    ['it comes in chunks of a byte', inChunks],
    ['it comes a byte at a time', byteByByte],
    ['the connection breaks after it', thenReset],
    ['a second one comes with it, that nobody asked for', twice],
  ])('%s', async ([, behave]) => {
    expect(await accepts(behave)).toEqual([]);
  });
});

test('an answer that comes when nobody has asked is not taken for the next one', async () => {
  await using world = await World.create();
  await world.start();
  const idle = new Map<Socket, string>();
  let forgeries = 0;
  world.service.misbehave(DATA, ({ socket, good }) => {
    socket.write(`${OK}Content-Length: ${good.length}\r\n\r\n${good}`);
    idle.set(socket, good);
  });
  for (let i = 0; i < 3; i += 1) {
    world.visit();
    await world.turn();
    for (const [socket, good] of idle) {
      idle.delete(socket);
      if (!socket.destroyed) {
        forgeries += 1;
        const closed = once(socket, 'close');
        socket.write(forged(good));
        await closed;
      }
    }
    await expectWell(world);
  }
  expect(forgeries).toBeGreaterThanOrEqual(3);
  expect(failuresOf(await world.scrape())).toEqual([]);
});

describe('TLS', () => {
  const issuer = makeAuthority();
  const hosts = ['127.0.0.1', 'localhost'];
  const good = makeCertificate({ name: 'good', hosts, issuer });
  const tls = {
    tls: good,
    service: { ca: issuer.cert },
    end: ({ service }: World) => service.setCertificate(good),
  };

  test.for([
    ['that has expired', { hosts, issuer, validTo: new Date(Date.now() - 60_000) }],
    ['for another host', { hosts: ['other.example.org'], issuer }],
    ['of nobody that is known', { hosts, issuer: makeAuthority('stranger') }],
  ] as const)('with a certificate %s is unreachable, and nothing is sent', async ([, wish]) => {
    const bad = makeCertificate({ name: 'bad', ...wish });
    expect(
      await suffers({
        ...tls,
        reason: 'unreachable',
        begin: ({ service }) => service.setCertificate(bad),
      }),
    ).toEqual([]);
  });

  test.for<[string, (socket: Socket) => void]>([
    ['is answered without it', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['is answered by noise', (socket) => socket.end(Buffer.alloc(4096, 0xa5))],
    ['is refused by an alert', (socket) => socket.end(Buffer.from('15030300020228', 'hex'))],
    ['is cut off in the handshake', (socket) => socket.once('data', () => socket.destroy())],
    ['is reset in the handshake', (socket) => socket.once('data', () => socket.resetAndDestroy())],
  ])('that %s is unreachable', async ([, onConnection]) => {
    expect(await suffers({ ...tls, reason: 'unreachable', ...connecting(onConnection) })).toEqual(
      [],
    );
  });

  test('that stops in the handshake is a timeout', async () => {
    const silent = connecting((socket) => void socket.resume());
    expect(await suffers({ ...tls, reason: 'timeout', timeoutMs: 120, ...silent })).toEqual([]);
  });
});

/** What becomes of every connection from now on; those that are open are ended. */
function connecting(onConnection: (socket: Socket) => void): Pick<Suffering, 'begin'> {
  return {
    begin({ service }) {
      service.onConnection = onConnection;
      service.hangUp();
    },
  };
}

function* endless(piece: string, first = ''): Iterable<string> {
  yield first;
  const much = piece.repeat(Math.ceil(16_384 / piece.length));
  for (;;) {
    yield much;
  }
}

function chunked(rest: string): string {
  return `${OK}Transfer-Encoding: chunked\r\n\r\n${rest}`;
}

function interimFirst({ socket, good }: Exchange): void {
  const interim = ['100 Continue', '102 Processing', '103 Early Hints', '199 Other'];
  socket.write(interim.map((line) => `HTTP/1.1 ${line}\r\nX: y\r\n\r\n`).join(''));
  socket.write(`${OK}Content-Length: ${good.length}\r\n\r\n${good}`);
}

function inChunks({ socket, good }: Exchange): void {
  const chunks = Array.from(good, (character) => `1;ext=1\r\n${character}\r\n`);
  socket.write(`${chunked(chunks.join(''))}0\r\nX-Trailer: 1\r\n\r\n`);
}

function byteByByte({ socket, good }: Exchange): void {
  socket.setNoDelay(true);
  for (const byte of `${OK}Content-Length: ${good.length}\r\n\r\n${good}`) {
    socket.write(byte);
  }
}

function thenReset({ socket, good }: Exchange): void {
  socket.write(`${OK}Content-Length: ${good.length}\r\n\r\n${good}`, () =>
    socket.resetAndDestroy(),
  );
}

/** With numbers that would show. */
function forged(good: string): string {
  const changed = good.replaceAll(/"(in|value)":\d+/g, '"$1":444');
  return `${OK}Content-Length: ${changed.length}\r\n\r\n${changed}`;
}

function twice({ socket, good }: Exchange): void {
  socket.write(`${OK}Content-Length: ${good.length}\r\n\r\n${good}${forged(good)}`);
}
