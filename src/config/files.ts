/** What is expected of files that hold secrets or certificates. Messages follow the name of the file. */
import { X509Certificate } from 'node:crypto';
import type { FileContent } from '../base/files.ts';

export const EXPOSED = 'can be read by others: expected mode 640 or 600';

/** Returns true if everybody on the machine can read the file. */
export function isExposed({ mode }: FileContent): boolean {
  return (mode & 0o004) !== 0;
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
