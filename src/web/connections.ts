/**
 * The http or https server below the routes, with limits so that slow, silent or many clients do not
 * keep others out.
 */
import { createServer as createHttpServer } from 'node:http';
import type { Server, ServerOptions, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContextOptions, TLSSocket, TlsOptions } from 'node:tls';
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
/** Without a byte sent while a response is read. */
const STALLED_TIMEOUT_MS = 30_000;
/** Longer than most scrape intervals, so that a scraper keeps its connection. */
const KEEP_ALIVE_TIMEOUT_MS = 125_000;

interface Connections {
  readonly server: Server;
  /** For new connections; idle ones are closed. Ignored on plain http. */
  setTls(tls: TlsConfig): void;
  destroyAll(): void;
}

/** The caller adds the listener that answers requests. */
export function createConnections(tls: TlsConfig | undefined, log: Logger): Connections {
  const options: ServerOptions = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
  };
  if (tls === undefined) {
    const server = createHttpServer(options);
    return { server, setTls() {}, destroyAll: limitConnections(server) };
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
    setTls(next) {
      server.setSecureContext(secureContextOf(next));
      server.closeIdleConnections();
    },
    destroyAll: limitConnections(server),
  };
}

/**
 * Beyond the limit, the oldest connection without a request is destroyed: one that is silent, idle or
 * still sending its request. Returns a function that destroys all connections.
 */
function limitConnections(server: Server): () => void {
  server.setTimeout(STALLED_TIMEOUT_MS);
  /** The oldest first, by the client's address: a TLS socket differs from the one that was accepted. */
  const connections = new Map<string, { readonly socket: Socket; response?: ServerResponse }>();

  function destroyOldestIdle(): void {
    for (const { socket, response } of connections.values()) {
      if (!isInProgress(response)) {
        socket.destroy();
        return;
      }
    }
  }

  server.on('connection', (socket: Socket) => {
    const client = clientOf(socket);
    connections.set(client, { socket });
    socket.once('close', () => connections.delete(client));
    if (connections.size > MAX_CONNECTIONS) {
      destroyOldestIdle();
    }
  });
  server.on('request', ({ socket }, response) => {
    const connection = connections.get(clientOf(socket));
    if (connection !== undefined) {
      connection.response = response;
    }
  });
  return () => connections.forEach(({ socket }) => socket.destroy());
}

function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function isInProgress(response: ServerResponse | undefined): boolean {
  return response !== undefined && response.req.complete && !response.writableFinished;
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
