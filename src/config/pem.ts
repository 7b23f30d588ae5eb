/** Certificates and keys in PEM, checked before anything relies on them. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { FileContent } from './read-file.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

export interface Certificates {
  /** The whole file. */
  readonly text: string;
  readonly list: readonly X509Certificate[];
}

/** Throws an Error whose message completes a sentence that begins with the file. */
export function parseCertificates({ text }: FileContent): Certificates {
  const list = text.match(CERTIFICATE)?.map((pem) => {
    try {
      return new X509Certificate(pem);
    } catch {
      throw new Error('holds an invalid certificate');
    }
  });
  if (list === undefined) {
    throw new Error('holds no certificate, expected PEM, as in -----BEGIN CERTIFICATE-----');
  }
  return { text, list };
}

export interface PrivateKey {
  readonly key: KeyObject;
  readonly content: FileContent;
}

/** Throws an Error whose message completes a sentence that begins with the file. */
export function parsePrivateKey(content: FileContent): PrivateKey {
  if (content.text.includes('ENCRYPTED')) {
    throw new Error('is encrypted, expected a key without a password');
  }
  try {
    return { key: createPrivateKey(content.text), content };
  } catch {
    // The library's message may quote the key.
    throw new Error('holds no private key, expected PEM, as in -----BEGIN PRIVATE KEY-----');
  }
}
