/** The http or https server below the routes, with Node's own limits and timeouts. */
import { createServer as createHttpServer } from 'node:http';
import type { Server, ServerOptions } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { SecureContextOptions, TLSSocket, TlsOptions } from 'node:tls';
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
  // Node's own refusal has no text.
  requireHostHeader: false,
};
/** The last one closes the connection: a client that pipelines more waits for a new one. */
const MAX_REQUESTS_PER_SOCKET = 1_000;
const HANDSHAKE_TIMEOUT_MS = 5_000;

export interface Listener {
  readonly server: Server;
  /** Replaces the certificates for new connections; idle ones are closed. Ignored on plain http. */
  readonly setTls: (next: TlsConfig) => void;
}

/** Returns a server that does not listen yet. */
export function createListener(tls: TlsConfig | undefined, log: Logger): Listener {
  const listener = tls === undefined ? plainListener() : tlsListener(tls, log);
  listener.server.maxRequestsPerSocket = MAX_REQUESTS_PER_SOCKET;
  return listener;
}

function plainListener(): Listener {
  return { server: createHttpServer(LIMITS), setTls() {} };
}

function tlsListener(tls: TlsConfig, log: Logger): Listener {
  const server = createHttpsServer({ ...LIMITS, ...tlsOptionsOf(tls) });
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
  };
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
