/**
 * Certificates made for one test, which Node can read but not make: X.509 v3 (RFC 5280) in DER, with
 * ECDSA on P-256. Nothing secret is kept in a file of the repository.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

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
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const toSign = sequence(
    explicit(0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    nameOf(options.issuer?.name ?? options.name),
    sequence(
      time(options.validFrom ?? new Date(Date.now() - DAY_MS)),
      time(options.validTo ?? new Date(Date.now() + DAY_MS)),
    ),
    nameOf(options.name),
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...extensionsOf(options))),
  );
  const signature = sign('sha256', toSign, options.issuer?.key ?? privateKey);
  return {
    cert: pem('CERTIFICATE', sequence(toSign, ECDSA_WITH_SHA256, bitString(signature))),
    key: privateKeyPem(privateKey),
  };
}

function extensionsOf({ hosts = [], isAuthority = false }: CertificateOptions): readonly Buffer[] {
  const constraints = sequence(...(isAuthority ? [TRUE] : []));
  const names = hosts.map((host) =>
    /^[\d.]+$/.test(host)
      ? tagged(0x87, Buffer.from(host.split('.').map(Number)))
      : tagged(0x82, Buffer.from(host)),
  );
  return [
    sequence(oid(0x55, 0x1d, 0x13), TRUE, octets(constraints)),
    ...(names.length === 0 ? [] : [sequence(oid(0x55, 0x1d, 0x11), octets(sequence(...names)))]),
  ];
}

function tagged(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size =
    length < 0x80
      ? [length]
      : length < 0x100
        ? [0x81, length]
        : [0x82, Math.floor(length / 0x100), length % 0x100];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

function sequence(...contents: readonly Uint8Array[]): Buffer {
  return tagged(0x30, ...contents);
}

function explicit(number: number, content: Uint8Array): Buffer {
  return tagged(0xa0 + number, content);
}

function integer(bytes: Uint8Array): Buffer {
  return tagged(0x02, bytes);
}

function octets(content: Uint8Array): Buffer {
  return tagged(0x04, content);
}

function bitString(content: Uint8Array): Buffer {
  return tagged(0x03, Buffer.of(0), content);
}

function oid(...bytes: readonly number[]): Buffer {
  return tagged(0x06, Buffer.from(bytes));
}

const TRUE = tagged(0x01, Buffer.of(0xff));
/** 1.2.840.10045.4.3.2 (RFC 5758, 3.2). */
const ECDSA_WITH_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));

/** A common name alone (2.5.4.3). */
function nameOf(name: string): Buffer {
  const attribute = sequence(oid(0x55, 0x04, 0x03), tagged(0x0c, Buffer.from(name)));
  return sequence(tagged(0x31, attribute));
}

/** UTCTime, good until 2049. */
function time(date: Date): Buffer {
  const text = date.toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return tagged(0x17, Buffer.from(text.slice(2)));
}

function pem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}

function privateKeyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}
