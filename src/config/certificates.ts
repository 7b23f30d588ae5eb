/** Certificates and keys in files of PEM: each is tried before anybody relies on it. */
import { X509Certificate, createPrivateKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../base/errors.ts';
import type { Problems } from './problems.ts';
import { LARGEST_FILE_BYTES, readTextFile } from './read-file.ts';
import type { FileContent } from './read-file.ts';
import type { Found } from './shapes.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

export interface FileReading {
  readonly problems: Problems;
  /** To be told of a file that was read. */
  readonly fileRead: (path: string) => void;
}

export interface Certificates {
  /** The whole file. */
  readonly text: string;
  readonly list: readonly X509Certificate[];
}

/** All certificates of a file, at least one; undefined after a problem. */
export function readCertificates(
  file: Found<string>,
  reading: FileReading,
): Promise<Certificates | undefined> {
  return readPem(file, reading, ({ text }) => {
    const list = text.match(CERTIFICATE)?.map(parseCertificate);
    if (list === undefined) {
      throw new Error('holds no certificate: give one in PEM, as in -----BEGIN CERTIFICATE-----');
    }
    return { text, list };
  });
}

export interface PrivateKey {
  readonly text: string;
  readonly key: KeyObject;
  /** Permission bits of the file. */
  readonly mode: number;
}

/** The private key of a file; undefined after a problem. */
export function readPrivateKey(
  file: Found<string>,
  reading: FileReading,
): Promise<PrivateKey | undefined> {
  return readPem(file, reading, ({ text, mode }) => {
    if (/ENCRYPTED/.test(text)) {
      throw new Error(
        'is encrypted with a password: give a key without one, in a file of mode 600',
      );
    }
    return { text, key: parseKey(text), mode };
  });
}

async function readPem<Result>(
  file: Found<string>,
  { problems, fileRead }: FileReading,
  parse: (content: FileContent) => Result,
): Promise<Result | undefined> {
  const path = resolve(dirname(file.place.source.path), file.value);
  fileRead(path);
  try {
    return parse(await readTextFile(path, LARGEST_FILE_BYTES));
  } catch (error) {
    problems.add({ ...file, message: `the file ${messageOf(error)}` });
    return undefined;
  }
}

function parseCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw new Error('holds a certificate that cannot be read: give each as it was issued');
  }
}

/** The library's own words may quote what it read. */
function parseKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new Error('holds no private key: give one in PEM, as in -----BEGIN PRIVATE KEY-----');
  }
}
