/** What only a real socket shows: limits, hanging clients, compressed bytes, the end. */
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { createWebServer } from '../../src/web/server.ts';
import type { WebServerOptions } from '../../src/web/server.ts';
import { webOptions } from './fixtures.ts';

async function serving(changes: Partial<WebServerOptions> = {}) {
  const server = createWebServer(webOptions(changes));
  const { url } = await server.start();
  onTestFinished(() => server.stop());
  return { server, url };
}

/** A raw connection, and all that came over it once it has ended. */
async function connected(url: string): Promise<{ socket: Socket; ended: Promise<string> }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const ended = new Promise<string>((resolve) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('error', () => resolve(text));
    socket.on('close', () => resolve(text));
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  onTestFinished(() => void socket.destroy());
  return { socket, ended };
}

test('a scrape over a real socket decodes to what was rendered', async () => {
  const body = '# HELP x y\n'.repeat(100_000);
  const { url } = await serving({
    exposition: (_format, gzip) => Promise.resolve([gzip ? gzipSync(body) : Buffer.from(body)]),
  });
  const zipped = await fetch(`${url}/metrics`, { headers: { 'accept-encoding': 'gzip' } });
  expect(zipped.headers.get('content-encoding')).toBe('gzip');
  expect(await zipped.text()).toBe(body);
  const plain = await fetch(`${url}/metrics`, { headers: { 'accept-encoding': 'identity' } });
  expect(plain.headers.get('content-encoding')).toBeNull();
  expect(await plain.text()).toBe(body);
});

test('the url has the port that was picked', async () => {
  const { url } = await serving();
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
});

test('every address of the machine is listened on when none is named', async () => {
  const { url } = await serving({ listenAddress: ':0' });
  expect(url).toMatch(/^http:\/\/localhost:[1-9]\d*$/);
  const { port } = new URL(url);
  expect((await fetch(`http://127.0.0.1:${port}/-/ready`)).status).toBe(200);
});

test('an address that is taken is said in words', async () => {
  const { url } = await serving();
  const second = createWebServer(webOptions({ listenAddress: new URL(url).host }));
  onTestFinished(() => second.stop());
  await expect(second.start()).rejects.toThrow(
    /^cannot listen on 127\.0\.0\.1:\d+: another program listens there/,
  );
});

test('an address that is not of this machine is refused with what would be right', async () => {
  // Reserved for documentation (RFC 5737): nobody has it.
  const elsewhere = createWebServer(webOptions({ listenAddress: '192.0.2.1:0' }));
  onTestFinished(() => elsewhere.stop());
  await expect(elsewhere.start()).rejects.toThrow(
    'cannot listen on 192.0.2.1:0: this machine does not have that address; give one of its own',
  );
});

test('headers beyond the limit and garbage are answered in plain text and cut off', async () => {
  const { url } = await serving();
  const long = await connected(url);
  long.socket.write(`GET /metrics HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(9_000)}\r\n\r\n`);
  expect(await long.ended).toMatch(
    /^HTTP\/1\.1 431 [^]*\r\n\r\nRequest Header Fields Too Large\n$/,
  );
  const garbage = await connected(url);
  garbage.socket.write('garbage\r\n\r\n');
  expect(await garbage.ended).toMatch(/^HTTP\/1\.1 400 [^]*\r\n\r\nBad Request\n$/);
});

test('stopping ends an idle connection that is kept alive', async () => {
  const { server, url } = await serving();
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const socket = await new Promise<Socket>((resolve, reject) => {
    const request = httpRequest(`${url}/metrics`, { agent }, (response) => {
      const { socket: used } = response;
      response.resume().on('end', () => resolve(used));
    });
    request.on('error', reject).end();
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await server.stop();
  await closed;
  expect(socket.destroyed).toBe(true);
});

test('stopping cuts clients that send nothing, half a request, or wait for an answer', async () => {
  const asked = Promise.withResolvers<void>();
  const { server, url } = await serving({
    exposition: () => {
      asked.resolve();
      return new Promise(() => {});
    },
  });
  const silent = await connected(url);
  const half = await connected(url);
  half.socket.write('GET /metrics HTTP/1.1\r\nHos');
  const waiting = await connected(url);
  waiting.socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
  await asked.promise;
  await server.stop();
  expect(await Promise.all([silent.ended, half.ended, waiting.ended])).toEqual(['', '', '']);
});

test('stopping cuts a client that does not read its answer', async () => {
  const asked = Promise.withResolvers<void>();
  const { server, url } = await serving({
    exposition: () => {
      asked.resolve();
      return Promise.resolve([Buffer.alloc(64 * 1_024 * 1_024, 'x')]);
    },
  });
  const slow = await connected(url);
  // Whoever waits for 'readable' here makes it read on.
  slow.socket.pause();
  slow.socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
  await asked.promise;
  await server.stop();
  slow.socket.resume();
  expect((await slow.ended).length).toBeLessThan(64 * 1_024 * 1_024);
});

test('an answer under way is finished before the end', async () => {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<readonly Uint8Array[]>();
  const { server, url } = await serving({
    exposition: () => {
      asked.resolve();
      return answer.promise;
    },
  });
  const headers = { 'accept-encoding': 'identity' };
  const response = fetch(`${url}/metrics`, { headers }).then((got) => got.text());
  await asked.promise;
  const stopped = server.stop();
  answer.resolve([Buffer.from('whole\n')]);
  expect(await response).toBe('whole\n');
  await stopped;
});

test('a server that never started can be stopped', async () => {
  await expect(createWebServer(webOptions()).stop()).resolves.toBeUndefined();
});
