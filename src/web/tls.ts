/** TLS as the web server speaks it: versions, ciphers, and which clients it lets in. */
import type { SecureContextOptions, TLSSocket, TlsOptions } from 'node:tls';
import type { Secret } from '../base/secret.ts';

/** As the configuration has it; see config/web-types.ts. */
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

/** What can be exchanged while the server runs. */
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

export function tlsOptionsOf(tls: ServerTls, handshakeTimeoutMs: number): TlsOptions {
  return {
    ...secureContextOf(tls),
    handshakeTimeout: handshakeTimeoutMs,
    ALPNProtocols: ['http/1.1'],
    requestCert: tls.clientAuth !== 'NoClientCert',
    rejectUnauthorized: tls.clientAuth === 'RequireAndVerifyClientCert',
  };
}

/**
 * Whether a client may stay, after the handshake, with the certificate that it gave or did not. To
 * be called whatever the policy: OpenSSL keeps why a certificate is not good as its last error, and
 * Node takes that for one of the next read, in TLS 1.2, unless somebody has looked at it meanwhile.
 */
export function admitsClient(clientAuth: ClientAuth, socket: TLSSocket): boolean {
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
