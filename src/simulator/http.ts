/** The simulated service as an HTTP server on loopback. */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { UsageError } from '../base/errors.ts';
import { handleControl } from './control.ts';
import type { Faults } from './faults.ts';
import type { SimulatedRequest, SimulatedResponse } from './responses.ts';
import type { SimulatedService } from './service.ts';

export interface SimulatorOptions {
  readonly service: SimulatedService;
  readonly faults: Faults;
  readonly clock: Clock;
  /** `127.0.0.1:0` (any free port), `localhost:8080`, `[::1]:8080`. */
  readonly listenAddress: string;
}

export interface Simulator {
  /** For base_url and auth_url. */
  readonly url: string;
  /** Destroys all connections. */
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 65_536;

/** Throws a UsageError if the address is not on loopback: anybody who can connect can set faults. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const { host, port } = readLoopbackAddress(options.listenAddress);
  const closing = new AbortController();
  const server = createServer((incoming, outgoing) => {
    exchange(options, incoming, outgoing, closing.signal).catch((error: unknown) => {
      outgoing.destroy(error instanceof Error ? error : undefined);
    });
  });
  await listen(server, host, port);
  const address = server.address() as AddressInfo;
  const shownHost = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    url: `http://${shownHost}:${address.port}`,
    async close() {
      closing.abort();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

async function exchange(
  { service, faults, clock }: SimulatorOptions,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  closing: AbortSignal,
): Promise<void> {
  const request = await readRequest(incoming);
  if (request === undefined) {
    outgoing.writeHead(413).end();
    return;
  }
  if (request.path.startsWith('/simulator/')) {
    send(outgoing, handleControl({ service, faults, clock }, request));
    return;
  }
  const outcome = faults.outcome(service, request);
  switch (outcome.kind) {
    case 'silence':
      return;
    case 'reset':
      incoming.socket.resetAndDestroy();
      return;
    case 'answer':
      if (outcome.afterMs > 0) {
        const gone = new AbortController();
        outgoing.once('close', () => gone.abort());
        const waiting = AbortSignal.any([gone.signal, closing]);
        await clock.sleep(outcome.afterMs, waiting).catch(() => undefined);
      }
      send(outgoing, outcome.response);
  }
}

function send(outgoing: ServerResponse, { status, headers, body }: SimulatedResponse): void {
  outgoing.sendDate = false;
  outgoing.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
}

/** Undefined if the body is too large. */
async function readRequest(incoming: IncomingMessage): Promise<SimulatedRequest | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) {
      return undefined;
    }
    chunks.push(chunk);
  }
  const [path = '/', query = ''] = (incoming.url ?? '/').split('?', 2);
  return {
    method: incoming.method ?? 'GET',
    path,
    query: new URLSearchParams(query),
    headers: { authorization: incoming.headers.authorization },
    body: Buffer.concat(chunks).toString(),
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

function readLoopbackAddress(address: string): { readonly host: string; readonly port: number } {
  const match = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(address);
  const host = match?.[1]?.replace(/^\[(.*)\]$/, '$1') ?? '';
  const port = Number(match?.[2] ?? Number.NaN);
  if (match === null || port > 65_535) {
    throw new UsageError(`expected an address like 127.0.0.1:0, got "${address}"`);
  }
  if (host !== 'localhost' && host !== '::1' && !/^127(?:\.\d{1,3}){3}$/.test(host)) {
    throw new UsageError(
      `the simulated service listens on loopback only: expected 127.0.0.1, localhost or [::1], got "${host}"`,
    );
  }
  return { host, port };
}
