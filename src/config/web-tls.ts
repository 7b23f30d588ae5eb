/** The part tls_server_config of the web configuration, with the certificates that it names. */
import { createSecureContext } from 'node:tls';
import { Secret } from '../base/secret.ts';
import { readCertificates, readPrivateKey } from './certificates.ts';
import type { Certificates, PrivateKey } from './certificates.ts';
import { isReadableByOthers, READABLE_BY_OTHERS } from './permissions.ts';
import type { Problems } from './problems.ts';
import type { Found } from './shapes.ts';
import type { Place } from './source.ts';
import { CIPHERS_12, CIPHERS_13, CURVES, TLS_VERSIONS } from './tls-names.ts';
import type { TlsSection } from './web-keys.ts';
import type { ClientAuth, TlsConfig } from './web-types.ts';

/** What the reading of a web configuration is told of on its way. */
export interface WebReading {
  readonly problems: Problems;
  readonly nowMs: number;
  /** To be told of a file that was read. */
  readonly fileRead: (path: string) => void;
  /** To be told of what works but should not be. */
  readonly warn: (found: Omit<Found<unknown>, 'value' | 'quotable'>, message: string) => void;
}

/** Undefined after at least one problem. */
export async function readTls(
  { value: { fields }, place, path }: Found<TlsSection>,
  reading: WebReading,
): Promise<TlsConfig | undefined> {
  const { cert_file, key_file, client_ca_file, client_auth_type } = fields;
  const cert = cert_file && (await readCertificates(cert_file, reading));
  const key = key_file && (await readPrivateKey(key_file, reading));
  const clientCa = client_ca_file && (await readCertificates(client_ca_file, reading));
  const { min_version: min, max_version: max } = fields;
  if (min?.value === 'TLS13' && max?.value === 'TLS12') {
    const message = 'is newer than max_version: give a version that is not';
    reading.problems.add({ ...min, message });
  }
  if (client_auth_type !== undefined) {
    checkClientAuth(client_auth_type, client_ca_file, { place, path }, reading.problems);
  }
  if (cert_file !== undefined && cert !== undefined) {
    warnOfTime(cert_file, cert, reading);
  }
  if (key_file !== undefined && key !== undefined && isReadableByOthers(key.mode)) {
    reading.warn(key_file, `the file ${READABLE_BY_OTHERS}`);
  }
  if (
    key_file === undefined ||
    cert === undefined ||
    key === undefined ||
    client_auth_type === undefined ||
    min === undefined ||
    max === undefined ||
    !isPair(cert, key, key_file, reading.problems)
  ) {
    return undefined;
  }
  const ciphers = fields.cipher_suites?.value.map(({ value }) => value) ?? [];
  const curves = fields.curve_preferences?.value.map(({ value }) => CURVES[value]) ?? [];
  return {
    cert: cert.text,
    key: new Secret(key.text),
    clientAuth: client_auth_type.value,
    clientCa: clientCa?.text,
    minVersion: TLS_VERSIONS[min.value],
    maxVersion: TLS_VERSIONS[max.value],
    ciphers: ciphersOf(ciphers),
    curves: curves.length === 0 ? undefined : curves.join(':'),
    preferServerCiphers: fields.prefer_server_cipher_suites?.value ?? true,
  };
}

type Cipher = keyof typeof CIPHERS_12 | (typeof CIPHERS_13)[number];

/** Those of TLS 1.3 stay, as they do in Go: a list without them would switch TLS 1.3 off. */
function ciphersOf(names: readonly Cipher[]): string | undefined {
  const old = names.flatMap((name) =>
    name in CIPHERS_12 ? [name as keyof typeof CIPHERS_12] : [],
  );
  return old.length === 0
    ? undefined
    : [...CIPHERS_13, ...old.map((name) => CIPHERS_12[name])].join(':');
}

const VERIFYING: readonly ClientAuth[] = ['VerifyClientCertIfGiven', 'RequireAndVerifyClientCert'];

function checkClientAuth(
  type: Found<ClientAuth>,
  ca: Found<string> | undefined,
  tls: { readonly place: Place; readonly path: string },
  problems: Problems,
): void {
  if (ca !== undefined && type.value === 'NoClientCert') {
    const message = 'has no effect with NoClientCert: give client_auth_type, or remove it';
    problems.add({ ...ca, message });
  }
  if (ca === undefined && VERIFYING.includes(type.value)) {
    const message = `is missing: give the authorities of the clients, without which ${type.value} lets nobody in`;
    problems.add({ place: tls.place, path: `${tls.path}.client_ca_file`, message });
  }
}

/** Whether the key is that of the certificate, and both are such that TLS can use them. */
function isPair(
  { list: [first], text }: Certificates,
  key: PrivateKey,
  keyFile: Found<string>,
  problems: Problems,
): boolean {
  if (first?.checkPrivateKey(key.key) !== true) {
    const message = 'the file holds the key of another certificate: give the one of cert_file';
    problems.add({ ...keyFile, message });
    return false;
  }
  try {
    createSecureContext({ cert: text, key: key.text });
    return true;
  } catch {
    const message = 'the file holds a key that TLS cannot use: give RSA of 2048 bits, or ECDSA';
    problems.add({ ...keyFile, message });
    return false;
  }
}

function warnOfTime(
  file: Found<string>,
  { list: [first] }: Certificates,
  reading: WebReading,
): void {
  if (first !== undefined && first.validToDate.getTime() <= reading.nowMs) {
    reading.warn(file, 'the file holds a certificate that has expired: renew it');
  } else if (first !== undefined && first.validFromDate.getTime() > reading.nowMs) {
    reading.warn(file, 'the file holds a certificate that is not valid yet: check the clock');
  }
}
