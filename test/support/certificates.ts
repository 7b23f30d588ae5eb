/**
 * Certificates made for one test, which Node can read but not make: X.509 v3 (RFC 5280) in DER, with
 * ECDSA on P-256. Nothing secret is kept in a file of the repository.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

export interface Certified {
  /** PEM. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
}

export interface CertificateOptions {
  readonly name: string;
  /** Host names or IPv4 addresses. */
  readonly hosts?: readonly string[];
  /** Authority that signs; without one the certificate signs itself. */
  readonly issuer?: Authority;
  readonly isAuthority?: boolean;
  readonly validFrom?: Date;
  readonly validTo?: Date;
}

export interface Authority extends Certified {
  readonly name: string;
}

const DAY_MS = 86_400_000;

export function makeAuthority(name = 'test authority'): Authority {
  return { ...makeCertificate({ name, isAuthority: true }), name };
}

export function makeCertificate(options: CertificateOptions): Certified {
  const { name, hosts = [], issuer, isAuthority = false } = options;
  const { validFrom = new Date(Date.now() - DAY_MS) } = options;
  const { validTo = new Date(Date.now() + DAY_MS) } = options;
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const names = hosts.map((host) =>
    /^[\d.]+$/.test(host)
      ? der(0x87, Buffer.from(host.split('.').map(Number)))
      : der(0x82, Buffer.from(host)),
  );
  const toSign = der(
    SEQUENCE,
    der(0xa0, der(INTEGER, Buffer.of(2))),
    der(INTEGER, Buffer.of(1), randomBytes(8)),
    ECDSA_WITH_SHA256,
    nameOf(issuer?.name ?? name),
    der(SEQUENCE, time(validFrom), time(validTo)),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      der(
        SEQUENCE,
        extension(0x13, TRUE, der(SEQUENCE, ...(isAuthority ? [TRUE] : []))),
        ...(names.length === 0 ? [] : [extension(0x11, der(SEQUENCE, ...names))]),
      ),
    ),
  );
  const signature = sign('sha256', toSign, issuer?.key ?? privateKey);
  const signed = der(SEQUENCE, toSign, ECDSA_WITH_SHA256, der(0x03, Buffer.of(0), signature));
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${signed.toString('base64')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

const [INTEGER, OBJECT_ID, SEQUENCE] = [0x02, 0x06, 0x30];
const TRUE = der(0x01, Buffer.of(0xff));
/** 1.2.840.10045.4.3.2 (RFC 5758, 3.2). */
const ECDSA_WITH_SHA256 = der(
  SEQUENCE,
  der(OBJECT_ID, Buffer.of(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02)),
);

/** Encodes a value by its tag. */
function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const long = length < 0x100 ? [0x81, length] : [0x82, Math.floor(length / 0x100), length % 0x100];
  return Buffer.concat([Buffer.of(tag, ...(length < 0x80 ? [length] : long)), content]);
}

/** An extension 2.5.29.`number`; the last part is its value. */
function extension(number: number, ...parts: readonly Buffer[]): Buffer {
  const id = der(OBJECT_ID, Buffer.of(0x55, 0x1d, number));
  return der(SEQUENCE, id, ...parts.slice(0, -1), der(0x04, ...parts.slice(-1)));
}

/** A common name alone (2.5.4.3). */
function nameOf(name: string): Buffer {
  const id = der(OBJECT_ID, Buffer.of(0x55, 0x04, 0x03));
  return der(SEQUENCE, der(0x31, der(SEQUENCE, id, der(0x0c, Buffer.from(name)))));
}

/** UTCTime, good until 2049. */
function time(date: Date): Buffer {
  const text = date.toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return der(0x17, Buffer.from(text.slice(2)));
}
