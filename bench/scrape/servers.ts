/** The servers that are compared, each a process of its own: started, asked, measured, ended. */
import { strict as assert } from 'node:assert';
import { fork, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { systemClock } from '../../src/base/clock.ts';

export interface Server {
  readonly process: ChildProcess;
  readonly url: string;
}

export interface Scraped {
  readonly wallMs: number;
  /** Processor time of all the server's threads, from just before the scrape until it has calmed down. */
  readonly cpuMs: number;
}

type Encoding = 'gzip' | 'identity';

const READ_INTO = Buffer.alloc(1_024 * 1_024);

/** A server still tidies up when the last byte has been read. */
const CALM_MS = 120;
const PUSHGATEWAY = '/usr/bin/prometheus-pushgateway';
const MAX_TRIES = 100;

/** A program of this folder that sends its address, once it was sent `message` if there is one. */
export async function startProgram(
  file: string,
  {
    message,
    args = [],
    nodeFlags = [],
  }: {
    readonly message?: string;
    readonly args?: readonly string[];
    readonly nodeFlags?: readonly string[];
  } = {},
): Promise<Server> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = fork(path, [...args], { execArgv: [...nodeFlags] });
  if (message !== undefined) {
    child.send(message);
  }
  const [{ url }] = (await once(child, 'message')) as [{ readonly url: string }];
  return { process: child, url: `${url}/metrics` };
}

/** Debian's, with these series as one group. */
export async function startPushgateway(text: string): Promise<Server> {
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(PUSHGATEWAY, [`--web.listen-address=${address}`, '--log.level=error'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const server = { process: child, url: `http://${address}/metrics` };
  try {
    for (let tries = 0; (await statusOf(`http://${address}/-/ready`)) !== 200; tries += 1) {
      assert(tries < MAX_TRIES, 'pushgateway does not start');
      await systemClock.sleep(CALM_MS);
    }
    const pushed = await send(`http://${address}/metrics/job/library`, 'PUT', {}, text);
    assert.equal(pushed.response.statusCode, 200, pushed.body.toString());
    return server;
  } catch (error) {
    end(server);
    throw error;
  }
}

export async function scrape(server: Server, encoding: Encoding): Promise<Scraped> {
  const before = cpuMsOf(server);
  const startMs = systemClock.monotonicMs();
  await readThrough(server.url, encoding);
  const wallMs = systemClock.monotonicMs() - startMs;
  await systemClock.sleep(CALM_MS);
  return { wallMs, cpuMs: cpuMsOf(server) - before };
}

/** Returns the response to a scrape as text. */
export async function textOf(server: Server, encoding: Encoding): Promise<string> {
  const { response, body } = await send(server.url, 'GET', { 'accept-encoding': encoding });
  assert.equal(response.statusCode, 200);
  // Whoever cannot compress sends plain text.
  return (body[0] === 0x1f ? gunzipSync(body) : body).toString();
}

/**
 * Reads a whole response and keeps nothing of it. Node's own client takes three times as long over
 * 18 MB as our server, and what it takes is no server's.
 */
async function readThrough(url: string, encoding: Encoding): Promise<void> {
  const { hostname, port, host, pathname } = new URL(url);
  let head = '';
  const socket = connect({
    host: hostname,
    port: Number(port),
    onread: {
      buffer: READ_INTO,
      callback(bytes) {
        head ||= READ_INTO.toString('latin1', 0, Math.min(bytes, 64));
        return true;
      },
    },
  });
  const ended = once(socket, 'end');
  socket.write(
    `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\nAccept-Encoding: ${encoding}\r\nConnection: close\r\n\r\n`,
  );
  await ended;
  socket.destroy();
  assert.match(head, /^HTTP\/1\.1 200 /);
}

/** Returns the processor time of all its threads since the start. */
function cpuMsOf({ process: { pid } }: Server): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  return tasks.reduce((sum, task) => {
    const [ns] = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ');
    return sum + Number(ns) / 1e6;
  }, 0);
}

/** Sends a message, and waits until it was done. */
export async function command({ process }: Server, message: string): Promise<void> {
  process.send(message);
  await once(process, 'message');
}

export function end(server: Server): void {
  server.process.kill('SIGKILL');
}

async function statusOf(url: string): Promise<number | undefined> {
  return send(url, 'GET', {}).then(
    ({ response }) => response.statusCode,
    () => undefined,
  );
}

async function send(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  content?: string,
): Promise<{ readonly response: IncomingMessage; readonly body: Buffer }> {
  const sent = request(url, { method, headers, agent: false });
  sent.end(content);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) {
    chunks.push(chunk as Buffer);
  }
  return { response, body: Buffer.concat(chunks) };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
