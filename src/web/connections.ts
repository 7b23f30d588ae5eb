/**
 * The server below the routes: http or https, and the limits that keep a bad client from hurting the
 * others before a request is whole. Must not know any path.
 */
import { createServer as createHttpServer } from 'node:http';
import type { RequestListener, Server, ServerOptions } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Logger } from '../base/log.ts';
import { admitsClient, secureContextOf, tlsOptionsOf } from './tls.ts';
import type { ServerTls } from './tls.ts';

const LIMITS = {
  maxHeaderBytes: 8 * 1_024,
  maxConnections: 512,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 10_000,
  handshakeTimeoutMs: 5_000,
  /** How often Node looks for requests beyond these; its own default is 30 s. */
  timeoutCheckMs: 1_000,
  /** Without a byte moved while an answer is being read. */
  stalledMs: 30_000,
  /** Longer than most scrape intervals, so that a scraper keeps its connection. */
  idleMs: 125_000,
};

export interface Connections {
  readonly server: Server;
  /** Counts for connections from now on; idle ones are closed. No effect on plain http. */
  exchangeTls(tls: ServerTls): void;
}

export function createConnections(
  listener: RequestListener,
  tls: ServerTls | undefined,
  log: Logger,
): Connections {
  const options: ServerOptions = {
    maxHeaderSize: LIMITS.maxHeaderBytes,
    headersTimeout: LIMITS.headersTimeoutMs,
    requestTimeout: LIMITS.requestTimeoutMs,
    connectionsCheckingInterval: LIMITS.timeoutCheckMs,
    keepAliveTimeout: LIMITS.idleMs,
  };
  if (tls === undefined) {
    return { server: withLimits(createHttpServer(options, listener)), exchangeTls() {} };
  }
  const { clientAuth } = tls;
  const server = createHttpsServer(
    { ...options, ...tlsOptionsOf(tls, LIMITS.handshakeTimeoutMs) },
    listener,
  );
  // Before HTTP gets to see the connection.
  server.prependListener('secureConnection', (socket) => {
    if (!admitsClient(clientAuth, socket)) {
      log.debug('a client without a good certificate was refused');
      socket.destroy();
    }
  });
  // Before HTTP answers with a page, which would wait for the handshake's end for ever.
  server.prependListener('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    log.debug('a client did not get through the TLS handshake', { code: error.code });
    socket.destroy();
  });
  return {
    server: withLimits(server),
    exchangeTls(next) {
      server.setSecureContext(secureContextOf(next));
      server.closeIdleConnections();
    },
  };
}

function withLimits(server: Server): Server {
  server.setTimeout(LIMITS.stalledMs);
  server.maxConnections = LIMITS.maxConnections;
  // Somebody was sent away for want of room: those who only keep their place give it up.
  server.on('drop', () => server.closeIdleConnections());
  return server;
}
