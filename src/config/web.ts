/**
 * From the web configuration file, and the certificates that it names, to how the web server is
 * protected, or to all that is wrong with it. Must not know what is done with it.
 */
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { Secret } from '../base/secret.ts';
import { readCertificates, readPrivateKey } from './certificates.ts';
import type { Certificates, PrivateKey } from './certificates.ts';
import type { Environment } from './expand.ts';
import { parseFile } from './parse-file.ts';
import { isReadableByOthers, READABLE_BY_OTHERS } from './permissions.ts';
import { Problems } from './problems.ts';
import { find } from './shapes.ts';
import type { Found, Reader } from './shapes.ts';
import type { Place } from './source.ts';
import {
  CIPHERS_12,
  CIPHERS_13,
  costOf,
  CURVES,
  TLS_VERSIONS,
  WEB_CONFIGURATION,
  webKeyNames,
} from './web-keys.ts';
import type { HttpSection, TlsSection, WebSection } from './web-keys.ts';
import type { ClientAuth, TlsConfig, WebConfig } from './web-types.ts';

export interface LoadedWebConfig {
  readonly config: WebConfig;
  /** Every file that was read, absolute: the web configuration, certificates and keys. */
  readonly files: readonly string[];
  /** What works but should not be so, each in the form of a problem. */
  readonly warnings: readonly string[];
}

export interface WebLoadOptions {
  readonly path: string;
  readonly env: Environment;
  readonly nowMs: number;
  /** What the server was started with, if it runs: some of it cannot change. */
  readonly running?: WebConfig | undefined;
}

const MOST_ENTRIES = 10_000;
/** With a lower one, passwords are tried out too quickly by whoever has the hash. */
const LEAST_COST = 10;

/** How the web server is protected. Throws a ConfigError with all problems, ready to print. */
export async function loadWebConfig(options: WebLoadOptions): Promise<LoadedWebConfig> {
  const { path } = options;
  const problems = new Problems();
  const files = new Set([resolve(path)]);
  const warnings: string[] = [];
  const reading: Reading = {
    problems,
    nowMs: options.nowMs,
    fileRead: (file) => files.add(file),
    warn: (found, message) => warnings.push(problems.describe({ ...found, message })),
  };
  const parsed = await parseFile(
    { name: path, path: resolve(path), knownKeys: webKeyNames(), example: EXAMPLE },
    problems,
  );
  const reader: Reader = {
    problems,
    environment: options.env,
    budget: { entries: MOST_ENTRIES },
  };
  const section = parsed && find(WEB_CONFIGURATION, parsed.node, '', reader)?.value;
  if (parsed === undefined || section === undefined) {
    return giveUp(problems);
  }
  const { tls_server_config: tlsSection } = section.fields;
  const tls = tlsSection && (await readTls(tlsSection, reading));
  const config = {
    tls,
    headers: headersOf(section.fields.http_server_config?.value, reading),
    users: usersOf(section, parsed.mode, reading),
  };
  if (options.running !== undefined) {
    const place = tlsSection?.place ?? parsed.node.place;
    checkUnchanged(config, options.running, place, problems);
  }
  problems.throwIfAny();
  return { config, files: [...files], warnings };
}

const EXAMPLE = 'docs/web-configuration.md';

interface Reading {
  readonly problems: Problems;
  readonly nowMs: number;
  /** To be told of a file that was read. */
  readonly fileRead: (path: string) => void;
  /** To be told of what works but should not be. */
  readonly warn: (found: Omit<Found<unknown>, 'value' | 'quotable'>, message: string) => void;
}

function giveUp(problems: Problems): never {
  problems.throwIfAny();
  throw new Error('a web configuration was refused without a problem');
}

/** Undefined after at least one problem. */
async function readTls(
  { value: { fields }, place, path }: Found<TlsSection>,
  reading: Reading,
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

function warnOfTime(file: Found<string>, { list: [first] }: Certificates, reading: Reading): void {
  if (first !== undefined && first.validToDate.getTime() <= reading.nowMs) {
    reading.warn(file, 'the file holds a certificate that has expired: renew it');
  } else if (first !== undefined && first.validFromDate.getTime() > reading.nowMs) {
    reading.warn(file, 'the file holds a certificate that is not valid yet: check the clock');
  }
}

/** Without those that are blank. */
function headersOf(section: HttpSection | undefined, reading: Reading): Record<string, string> {
  const http2 = section?.fields.http2;
  if (http2?.value === true) {
    reading.warn(http2, 'has no effect: HTTP/1.1 is spoken, which Prometheus speaks as well');
  }
  const headers = section?.fields.headers?.value.fields ?? {};
  return Object.fromEntries(
    Object.entries<Found<string> | undefined>(headers).flatMap(([name, header]) =>
      header === undefined || header.value === '' ? [] : [[name, header.value]],
    ),
  );
}

function usersOf(section: WebSection, mode: number, reading: Reading): Map<string, Secret> {
  const users = section.fields.basic_auth_users;
  if (users === undefined) {
    return new Map();
  }
  const hashes = Object.entries(users.value);
  if (hashes.length === 0 && reading.problems.count === 0) {
    const message =
      'is empty: give a user, or remove the key so that nobody is asked for a password';
    reading.problems.add({ ...users, message });
  }
  if (isReadableByOthers(mode)) {
    const message = `holds hashes of passwords, and ${users.place.source.name} ${READABLE_BY_OTHERS}`;
    reading.warn(users, message);
  }
  for (const [user, hash] of hashes) {
    if ((costOf(hash) ?? LEAST_COST) < LEAST_COST) {
      const path = `${users.path}.${user}`;
      const message = `has a cost below ${LEAST_COST}: hash the password anew with htpasswd -nBC ${LEAST_COST}`;
      reading.warn({ ...users, path }, message);
    }
  }
  return new Map(hashes.map(([user, hash]) => [user, new Secret(hash)]));
}

/** A port speaks http or https, and asks for certificates or not, from its start on. */
function checkUnchanged(
  next: WebConfig,
  running: WebConfig,
  place: Place,
  problems: Problems,
): void {
  if (problems.count === 0 && (next.tls === undefined) !== (running.tls === undefined)) {
    const message = 'comes or goes only with a new start: start the exporter anew';
    problems.add({ place, path: 'tls_server_config', message });
  } else if (problems.count === 0 && next.tls?.clientAuth !== running.tls?.clientAuth) {
    const message = 'changes only with a new start: start the exporter anew';
    problems.add({ place, path: 'tls_server_config.client_auth_type', message });
  }
}
