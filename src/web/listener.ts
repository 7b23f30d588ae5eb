/** The http or https server below the paths, with Node's own limits and timeouts. */
import { createServer as createHttpServer } from 'node:http';
import type { Server, ServerOptions } from 'node:http';
import { createServer as createHttpsServer, Server as HttpsServer } from 'node:https';
import type { SecureContextOptions, TLSSocket } from 'node:tls';
import { codeOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { ClientAuth, TlsConfig } from '../base/web-config.ts';

const LIMITS: ServerOptions = {
  maxHeaderSize: 8 * 1_024,
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  /** How often Node checks the timeouts above. */
  connectionsCheckingInterval: 1_000,
  /** Longer than most scrape intervals, so that a scraper keeps its connection. */
  keepAliveTimeout: 125_000,
};
/** The last one closes the connection: a client that pipelines more waits for a new one. */
const MAX_REQUESTS_PER_SOCKET = 1_000;

/** Returns a server that does not listen yet. */
export function createListener(tls: TlsConfig | undefined, log: Logger): Server {
  const server = tls === undefined ? createHttpServer(LIMITS) : createTlsServer(tls, log);
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_SOCKET;
  return server;
}

function createTlsServer(tls: TlsConfig, log: Logger): HttpsServer {
  const server = createHttpsServer({
    ...LIMITS,
    ...secureContextOf(tls),
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: 5_000,
    requestCert: tls.clientAuth !== 'NoClientCert',
    rejectUnauthorized: tls.clientAuth === 'RequireAndVerifyClientCert',
  });
  // Prepended, to run before HTTP uses the connection.
  server.prependListener('secureConnection', (socket) => {
    if (!isClientAllowed(tls.clientAuth, socket)) {
      log.debug('client certificate refused');
      socket.destroy();
    }
  });
  server.on('tlsClientError', (error) => {
    log.debug('TLS handshake failed', { code: codeOf(error) });
  });
  return server;
}

/** Replaces the certificates for new connections, and closes idle ones. Ignored on plain http. */
export function replaceCertificates(server: Server, tls: TlsConfig | undefined): void {
  if (server instanceof HttpsServer && tls !== undefined) {
    server.setSecureContext(secureContextOf(tls));
    server.closeIdleConnections();
  }
}

/** What can change while the server runs. */
function secureContextOf(tls: TlsConfig): SecureContextOptions {
  const { cert, key, minVersion, clientCa } = tls;
  return { cert, key: key.reveal(), minVersion, ...(clientCa !== undefined && { ca: clientCa }) };
}

/**
 * Whether the client's certificate, or its absence, is allowed. Call it for every policy: OpenSSL keeps
 * the reason why a certificate is invalid as its last error, and Node would report that at the next
 * read of TLS 1.2, unless the certificate was looked at before.
 */
function isClientAllowed(clientAuth: ClientAuth, socket: TLSSocket): boolean {
  return socket.getPeerX509Certificate() === undefined
    ? !clientAuth.startsWith('Require')
    : !clientAuth.includes('Verify') || socket.authorized;
}
