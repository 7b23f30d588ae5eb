/** How the web server is protected: what the file of `--web.config.file` says. */
import type { Secret } from './secret.ts';

export interface WebConfig {
  /** Undefined: plain http. */
  readonly tls: TlsConfig | undefined;
  /** bcrypt hashes by user. Empty: no authentication. */
  readonly users: ReadonlyMap<string, Secret>;
}

export interface TlsConfig {
  /** PEM text: the server's certificate, followed by those of its issuers. */
  readonly cert: string;
  /** PEM text. */
  readonly key: Secret;
  readonly clientAuth: ClientAuth;
  /** PEM text of the certificate authorities of clients. */
  readonly clientCa: string | undefined;
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
}

/** Go's names (crypto/tls, ClientAuthType). */
export const CLIENT_AUTHS = [
  'NoClientCert',
  'RequestClientCert',
  'RequireClientCert',
  'RequireAnyClientCert',
  'VerifyClientCertIfGiven',
  'RequireAndVerifyClientCert',
] as const;

export type ClientAuth = (typeof CLIENT_AUTHS)[number];
