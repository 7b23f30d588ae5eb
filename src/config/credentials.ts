/** Secrets and certificates: how their files are read, and the credentials of a customer. */
import { X509Certificate } from 'node:crypto';
import { messageOf, ServiceError } from '../base/errors.ts';
import { readTextFile } from '../base/files.ts';
import type { FileContent } from '../base/files.ts';
import { Secret } from '../base/secret.ts';
import type { CustomerConfig } from './types.ts';

export const MAX_SECRET_BYTES = 65_536;

/** What a warning says of a file with secrets. */
export const EXPOSED = 'can be read by others: expected mode 640 or 600';

/**
 * Returns what the service's client needs to know of a customer. `readSecret` reads a secret file at each
 * call, and throws a ServiceError `auth` that names the file.
 */
export function accessOf({ name, clientId, clientSecret: { path, secret } }: CustomerConfig) {
  async function readSecret(): Promise<Secret> {
    if (path === undefined) {
      return secret;
    }
    try {
      return parseSecret(await readTextFile(path, MAX_SECRET_BYTES));
    } catch (error) {
      throw new ServiceError('auth', `client_secret_file: ${path} ${messageOf(error)}`);
    }
  }
  return { name, clientId, readSecret };
}

/** Returns true if two configurations of a customer have the same credentials from the same place. */
export function haveSameCredentials(a: CustomerConfig, b: CustomerConfig): boolean {
  return (
    a.clientId === b.clientId &&
    a.clientSecret.path === b.clientSecret.path &&
    a.clientSecret.secret.equals(b.clientSecret.secret)
  );
}

/** Returns true if everybody on the machine can read the file. */
export function isExposed({ mode }: FileContent): boolean {
  return (mode & 0o004) !== 0;
}

/** Returns the text of a file without its last line end. Throws an Error if there is none. */
export function parseSecret({ text }: FileContent): Secret {
  const value = text.replace(/\r?\n$/, '');
  if (value === '') {
    throw new Error('is empty, expected the secret');
  }
  return new Secret(value);
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Returns the text of a file of certificates. Throws an Error if one is invalid: Node.js would ignore it. */
export function parseCertificates({ text }: FileContent): string {
  try {
    for (const certificate of text.match(CERTIFICATE) ?? ['']) {
      new X509Certificate(certificate);
    }
    return text;
  } catch {
    throw new Error('holds no certificate or an invalid one, expected PEM');
  }
}
