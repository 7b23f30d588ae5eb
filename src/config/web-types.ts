/** How the web server is protected, as the rest of the program sees it: whole, checked, files read. */
import type { Secret } from '../base/secret.ts';

export interface WebConfig {
  /** Undefined is plain http. */
  readonly tls: TlsConfig | undefined;
  /** Added to every answer that has no such header of its own. */
  readonly headers: Readonly<Record<string, string>>;
  /** The bcrypt hash of each user's password. Empty: nobody is asked for one. */
  readonly users: ReadonlyMap<string, Secret>;
}

export interface TlsConfig {
  /** PEM text: the server's certificate, and after it those that lead to its authority. */
  readonly cert: string;
  /** PEM text. */
  readonly key: Secret;
  readonly clientAuth: ClientAuth;
  /** PEM text of the authorities that may sign clients' certificates. */
  readonly clientCa: string | undefined;
  readonly minVersion: TlsVersion;
  readonly maxVersion: TlsVersion;
  /** In OpenSSL's names, joined by colons; undefined is Node's choice. */
  readonly ciphers: string | undefined;
  readonly curves: string | undefined;
  readonly preferServerCiphers: boolean;
}

/** As Go names them; what each lets in is in web/tls.ts. */
export const CLIENT_AUTHS = [
  'NoClientCert',
  'RequestClientCert',
  'RequireClientCert',
  'RequireAnyClientCert',
  'VerifyClientCertIfGiven',
  'RequireAndVerifyClientCert',
] as const;

export type ClientAuth = (typeof CLIENT_AUTHS)[number];
export type TlsVersion = 'TLSv1.2' | 'TLSv1.3';
