/** Secrets and certificates in files of their own. Messages follow the name of the file. */
import { X509Certificate } from 'node:crypto';
import { readTextFile } from '../base/files.ts';
import type { FileContent } from '../base/files.ts';
import { Secret } from '../base/secret.ts';
import type { CustomerConfig } from './types.ts';

export const MAX_CONFIG_FILE_BYTES = 4 * 1_048_576;
export const MAX_SECRET_BYTES = 65_536;

export const EXPOSED = 'can be read by others: expected mode 640 or 600';

/** Whether everybody on the machine can read the file. */
export function isExposed({ mode }: FileContent): boolean {
  return (mode & 0o004) !== 0;
}

/** What the service's client needs to know of a customer. A secret in a file is read at each call. */
export function accessOf({ name, clientId, clientSecret: { path, secret } }: CustomerConfig) {
  async function readSecret(): Promise<Secret> {
    return path === undefined ? secret : parseSecret(await readTextFile(path, MAX_SECRET_BYTES));
  }
  return { name, clientId, readSecret };
}

/** The text of a file without its last line end. Throws if there is none. */
export function parseSecret({ text }: FileContent): Secret {
  const value = text.replace(/\r?\n$/, '');
  if (value === '') {
    throw new Error('is empty, expected the secret');
  }
  return new Secret(value);
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Returns the text of a file of certificates. Node.js would ignore invalid ones. */
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
