/** TLS of the web server: versions, ciphers, and which clients are allowed. */
import type { SecureContextOptions, TLSSocket, TlsOptions } from 'node:tls';
import type { Secret } from '../base/secret.ts';

/** As in the configuration; see config/types.ts. */
export interface ServerTls {
  readonly cert: string;
  readonly key: Secret;
  readonly clientAuth: ClientAuth;
  readonly clientCa: string | undefined;
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
  readonly maxVersion: 'TLSv1.2' | 'TLSv1.3';
  readonly ciphers: string | undefined;
  readonly curves: string | undefined;
  readonly preferServerCiphers: boolean;
}

type ClientAuth =
  | 'NoClientCert'
  | 'RequestClientCert'
  | 'RequireClientCert'
  | 'RequireAnyClientCert'
  | 'VerifyClientCertIfGiven'
  | 'RequireAndVerifyClientCert';

/** What can change while the server runs. */
export function secureContextOf(tls: ServerTls): SecureContextOptions {
  return {
    cert: tls.cert,
    key: tls.key.reveal(),
    minVersion: tls.minVersion,
    maxVersion: tls.maxVersion,
    honorCipherOrder: tls.preferServerCiphers,
    ...(tls.clientCa === undefined ? {} : { ca: tls.clientCa }),
    ...(tls.ciphers === undefined ? {} : { ciphers: tls.ciphers }),
    ...(tls.curves === undefined ? {} : { ecdhCurve: tls.curves }),
  };
}

export function tlsOptionsOf(tls: ServerTls): TlsOptions {
  return {
    ...secureContextOf(tls),
    ALPNProtocols: ['http/1.1'],
    requestCert: tls.clientAuth !== 'NoClientCert',
    rejectUnauthorized: tls.clientAuth === 'RequireAndVerifyClientCert',
  };
}

/**
 * Whether the client's certificate, or its absence, is allowed. Call it for every policy: OpenSSL keeps
 * the reason why a certificate is invalid as its last error, and Node would report that at the next
 * read of TLS 1.2, unless the certificate was looked at before.
 */
export function isClientAllowed(clientAuth: ClientAuth, socket: TLSSocket): boolean {
  const isGiven = socket.getPeerX509Certificate() !== undefined;
  switch (clientAuth) {
    case 'NoClientCert':
    case 'RequestClientCert':
      return true;
    case 'RequireClientCert':
    case 'RequireAnyClientCert':
      return isGiven;
    case 'VerifyClientCertIfGiven':
      return socket.authorized || !isGiven;
    case 'RequireAndVerifyClientCert':
      return socket.authorized;
  }
}
