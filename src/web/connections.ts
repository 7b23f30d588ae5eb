/**
 * The http or https server below the routes, with limits so that slow, silent or many clients do not
 * keep others out.
 */
import { createServer as createHttpServer } from 'node:http';
import type {
  IncomingMessage,
  RequestListener,
  Server,
  ServerOptions,
  ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContextOptions, TLSSocket, TlsOptions } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import { codeOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { ClientAuth, TlsConfig } from '../base/web-config.ts';

/** More than the kernel's backlog of 511: a client must not be displaced before its request is read. */
const MAX_CONNECTIONS = 1_024;
const MAX_HEADER_BYTES = 8 * 1_024;
const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 10_000;
const HANDSHAKE_TIMEOUT_MS = 5_000;
/** How often Node checks the timeouts above. */
const TIMEOUT_CHECK_MS = 1_000;
/** Limit from the request until the client has read the whole response. */
const RESPONSE_TIMEOUT_MS = 30_000;
/** Pipelined requests that wait for the responses before theirs. Scrapers and browsers send none. */
const MAX_WAITING_REQUESTS = 16;
/** Longer than most scrape intervals, so that a scraper keeps its connection. */
const KEEP_ALIVE_TIMEOUT_MS = 125_000;

/** Returns a server that responds to nothing before `serve`. */
export function createConnections(tls: TlsConfig | undefined, log: Logger, clock: Clock) {
  const options: ServerOptions = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // Node's own refusal has no text.
    requireHostHeader: false,
  };
  if (tls === undefined) {
    const server = createHttpServer(options);
    return { server, setTls(_next: TlsConfig) {}, ...limitConnections(server, clock) };
  }
  const server = createHttpsServer({ ...options, ...tlsOptionsOf(tls) });
  // Prepended, to run before HTTP uses the connection.
  server.prependListener('secureConnection', (socket) => {
    if (!isClientAllowed(tls.clientAuth, socket)) {
      log.debug('client certificate refused');
      socket.destroy();
    }
  });
  // Prepended: Node would send an HTTP error, which waits for the end of the handshake.
  server.prependListener('tlsClientError', (error, socket) => {
    log.debug('TLS handshake failed', { code: codeOf(error) });
    socket.destroy();
  });
  return {
    server,
    /** Replaces the certificates for new connections; idle ones are closed. Ignored on plain http. */
    setTls(next: TlsConfig) {
      server.setSecureContext(secureContextOf(next));
      server.closeIdleConnections();
    },
    ...limitConnections(server, clock),
  };
}

interface Connection {
  readonly socket: Socket;
  /** Response to the request in progress. */
  response?: ServerResponse | undefined;
  /** Pipelined requests, in their order. */
  readonly waiting: (() => void)[];
}

/**
 * Beyond the limit, the oldest connection without a request is destroyed: one that is silent, idle or
 * still sending its request. A response that is not read in time is cut off.
 */
function limitConnections(server: Server, clock: Clock) {
  /** The oldest first, by the client's address: a TLS socket differs from the one that was accepted. */
  const connections = new Map<string, Connection>();

  function destroyOldestIdle(): void {
    for (const connection of connections.values()) {
      if (!isInProgress(connection)) {
        connection.socket.destroy();
        return;
      }
    }
  }

  function respond(connection: Connection, response: ServerResponse, listener: RequestListener) {
    const { socket } = response.req;
    connection.response = response;
    const cancel = clock.after(RESPONSE_TIMEOUT_MS, () => connection.socket.destroy());
    response.once('close', () => {
      cancel();
      connection.response = undefined;
      if (!socket.destroyed) {
        connection.waiting.shift()?.();
      }
    });
    listener(response.req, response);
  }

  server.on('connection', (socket: Socket) => {
    const client = clientOf(socket);
    connections.set(client, { socket, waiting: [] });
    socket.once('close', () => connections.delete(client));
    if (connections.size > MAX_CONNECTIONS) {
      destroyOldestIdle();
    }
  });
  return {
    /** Calls the listener for one request of a connection at a time. Call it once. */
    serve(listener: RequestListener): void {
      function onRequest({ socket }: IncomingMessage, response: ServerResponse): void {
        const connection = connections.get(clientOf(socket));
        if (connection === undefined || connection.waiting.length >= MAX_WAITING_REQUESTS) {
          socket.destroy();
        } else if (connection.response === undefined) {
          respond(connection, response, listener);
        } else {
          connection.waiting.push(() => respond(connection, response, listener));
        }
      }
      server.on('request', onRequest);
      // Node would refuse it without a text.
      server.on('checkExpectation', onRequest);
    },
    /** Whether a complete request of this client waits for the end of its response. */
    isResponding(socket: Socket): boolean {
      const connection = connections.get(clientOf(socket));
      return connection !== undefined && isInProgress(connection);
    },
    destroyAll: () => connections.forEach(({ socket }) => socket.destroy()),
  };
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function isInProgress({ response }: Connection): boolean {
  return response?.req.complete === true;
}

/** What can change while the server runs. */
function secureContextOf(tls: TlsConfig): SecureContextOptions {
  return {
    cert: tls.cert,
    key: tls.key.reveal(),
    minVersion: tls.minVersion,
    ...(tls.clientCa === undefined ? {} : { ca: tls.clientCa }),
  };
}

function tlsOptionsOf(tls: TlsConfig): TlsOptions {
  return {
    ...secureContextOf(tls),
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    requestCert: tls.clientAuth !== 'NoClientCert',
    rejectUnauthorized: tls.clientAuth === 'RequireAndVerifyClientCert',
  };
}

const REQUIRING: readonly ClientAuth[] = [
  'RequireClientCert',
  'RequireAnyClientCert',
  'RequireAndVerifyClientCert',
];
const VERIFYING: readonly ClientAuth[] = ['VerifyClientCertIfGiven', 'RequireAndVerifyClientCert'];

/**
 * Whether the client's certificate, or its absence, is allowed. Call it for every policy: OpenSSL keeps
 * the reason why a certificate is invalid as its last error, and Node would report that at the next
 * read of TLS 1.2, unless the certificate was looked at before.
 */
function isClientAllowed(clientAuth: ClientAuth, socket: TLSSocket): boolean {
  return socket.getPeerX509Certificate() === undefined
    ? !REQUIRING.includes(clientAuth)
    : !VERIFYING.includes(clientAuth) || socket.authorized;
}
