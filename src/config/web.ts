/**
 * The web configuration, the file that Prometheus's own exporters take (prometheus/exporter-toolkit,
 * docs/web-configuration.md). A key that is not supported is a problem: silently missing protection is
 * worse than none.
 */
import type { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { z } from 'zod';
import { Secret } from '../base/secret.ts';
import { Loading } from './loading.ts';
import type { DeepPartial, LoadedFile } from './loading.ts';
import { parseCertificates, parsePrivateKey } from './pem.ts';
import type { Certificates, PrivateKey } from './pem.ts';
import type { Problems } from './problems.ts';
import type { FileContent } from './read-file.ts';
import { EXPOSED, isExposed } from './secret-file.ts';
import { CLIENT_AUTHS } from './types.ts';
import type { ClientAuth, TlsConfig, TlsVersion, WebConfig } from './types.ts';
import { checkedString, oneOf, path, trueOrFalse } from './values.ts';
import type { YamlSource } from './yaml-source.ts';
import type { Environment } from './yaml-values.ts';

export interface LoadedWebConfig {
  readonly config: WebConfig;
  /** Every file that was read, absolute: the web configuration, certificates and keys. */
  readonly files: readonly string[];
  /** What works but should be changed, each with its place. */
  readonly warnings: readonly string[];
}

const TLS_VERSIONS = {
  TLS12: 'TLSv1.2',
  TLS13: 'TLSv1.3',
} as const satisfies Record<string, TlsVersion>;

/** The ciphers of TLS 1.2, by the names of Go (crypto/tls, CipherSuites), with those of OpenSSL. */
const CIPHERS_12 = {
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
} as const;

/** Neither Go nor this file lets one choose those of TLS 1.3. */
const CIPHERS_13 = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
] as const;

const CURVES = {
  X25519: 'X25519',
  CurveP256: 'prime256v1',
  CurveP384: 'secp384r1',
  CurveP521: 'secp521r1',
} as const;

const VERIFYING: readonly ClientAuth[] = ['VerifyClientCertIfGiven', 'RequireAndVerifyClientCert'];

const MAX_USERS = 1_000;
/** With a lower cost, a leaked hash can be broken too fast. */
const MIN_COST = 10;
/** A check at this cost takes about four seconds. */
const MAX_COST = 16;

type WebFile = z.output<ReturnType<typeof createWebSchema>>;
type TlsSection = NonNullable<WebFile['tls_server_config']>;

export function createWebSchema() {
  return z
    .strictObject({
      tls_server_config: z
        .strictObject({
          cert_file: path('a file with the certificate').describe(
            "The server's certificate, followed by those of its issuers (PEM).",
          ),
          key_file: path('a file with the key').describe('The private key (PEM), not encrypted.'),
          client_auth_type: oneOf(CLIENT_AUTHS)
            .default('NoClientCert')
            .describe('Whether clients need a certificate.'),
          client_ca_file: path('a file with certificates')
            .optional()
            .describe("Certificate authorities of clients' certificates (PEM)."),
          min_version: oneOf(keysOf(TLS_VERSIONS)).default('TLS12').describe('Oldest TLS version.'),
          max_version: oneOf(keysOf(TLS_VERSIONS)).default('TLS13').describe('Newest TLS version.'),
          cipher_suites: z
            .array(
              oneOf([...keysOf(CIPHERS_12), ...CIPHERS_13]).meta({
                expected: "one of Go's cipher names such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
              }),
            )
            .meta({ expected: "a list of Go's cipher names with forward secrecy" })
            .default([])
            .describe('Ciphers of TLS 1.2 by preference.'),
          prefer_server_cipher_suites: trueOrFalse()
            .default(true)
            .describe("Whether the server's order of ciphers counts."),
          curve_preferences: z
            .array(oneOf(keysOf(CURVES)))
            .meta({ expected: `a list of any of ${keysOf(CURVES).join(', ')}` })
            .default([])
            .describe('Elliptic curves by preference.'),
          client_allowed_sans: unsupported('restrict clients by client_ca_file'),
          cert: unsupported('use cert_file'),
          key: unsupported('use key_file'),
          client_ca: unsupported('use client_ca_file'),
        })
        .meta({ expected: 'a mapping with cert_file and key_file' })
        .optional()
        .describe('TLS. Without it, the server uses plain http.'),
      http_server_config: z
        .strictObject({
          http2: trueOrFalse().optional().describe('Accepted without effect: HTTP/1.1 is used.'),
          headers: z
            .strictObject({
              'Content-Security-Policy': header('Not for the status page, which has its own.'),
              'X-Frame-Options': oneOf(['deny', 'sameorigin']).optional().describe('Framing.'),
              'X-Content-Type-Options': oneOf(['nosniff'])
                .optional()
                .describe('Always sent as nosniff.'),
              'X-XSS-Protection': header('For old browsers.'),
              'Strict-Transport-Security': header('How long browsers must use https.'),
            })
            .meta({ expected: 'a mapping of headers' })
            .prefault({})
            .describe('Headers of all responses.'),
        })
        .meta({ expected: 'a mapping with headers' })
        .prefault({})
        .describe('HTTP settings.'),
      basic_auth_users: z
        .record(userName(), bcryptHash())
        .superRefine((users, context) => {
          const count = Object.keys(users).length;
          if (count === 0 || count > MAX_USERS) {
            const got = count === 0 ? 'no user' : `more than ${MAX_USERS} users`;
            context.addIssue({ code: 'custom', params: { got } });
          }
        })
        .meta({ expected: 'users with bcrypt hashes such as { prometheus: $2y$10$… }' })
        .optional()
        .describe('Users with the bcrypt hashes of their passwords.'),
      rate_limit: unsupported('remove it; connections and requests are limited otherwise'),
    })
    .meta({ expected: 'a mapping with tls_server_config or basic_auth_users' });
}

function header(description: string) {
  return checkedString((value) => (/^[ -~]{0,2048}$/.test(value) ? undefined : {}), {
    expected: 'at most 2048 printable ASCII characters',
    harmless: true,
  })
    .optional()
    .describe(description);
}

function unsupported(instead: string) {
  return z.never().meta({ unsupported: instead }).optional();
}

function userName() {
  return checkedString((name) => (name === '' || /[:\p{Cc}\p{Cs}]/u.test(name) ? {} : undefined), {
    expected: 'a user name without a colon',
  });
}

function bcryptHash() {
  return checkedString(
    (hash) => {
      const cost = costOf(hash);
      const got = cost === undefined ? 'another value' : `a cost above ${MAX_COST}`;
      return cost === undefined || cost > MAX_COST ? { got } : undefined;
    },
    { expected: 'a bcrypt hash, as htpasswd -nBC 10 USER prints it after the colon' },
  );
}

/** The binary logarithm of the number of rounds; undefined if it is not a bcrypt hash. */
function costOf(hash: string): number | undefined {
  const cost = Number(/^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(hash)?.[1]);
  return cost >= 4 && cost <= 31 ? cost : undefined;
}

function keysOf<Table extends object>(table: Table): readonly (keyof Table & string)[] {
  return Object.keys(table) as (keyof Table & string)[];
}

/**
 * Loads the web configuration. Throws a ConfigError with all problems. `running` is the configuration that
 * the server was started with: some of it cannot change.
 */
export async function loadWebConfig(options: {
  readonly path: string;
  readonly env: Environment;
  readonly nowMs: number;
  readonly running?: WebConfig | undefined;
}): Promise<LoadedWebConfig> {
  const schema = createWebSchema();
  const loading = new Loading(schema, options.env);
  const file = await loading.readYaml(options.path, schema);
  const config = file && (await readWebConfig(file, options, loading));
  loading.problems.throwIfAny();
  if (config === undefined) {
    throw new Error('unreachable: without a configuration there is a problem');
  }
  return { config, files: [...loading.files], warnings: loading.problems.warnings };
}

async function readWebConfig(
  file: LoadedFile<WebFile>,
  options: { readonly nowMs: number; readonly running?: WebConfig | undefined },
  loading: Loading,
): Promise<WebConfig | undefined> {
  const { source, content, partial, values } = file;
  const tls = await readTls(file, options.nowMs, loading);
  const users = Object.entries(partial.basic_auth_users ?? {});
  if (users.length > 0 && isExposed(content)) {
    loading.problems.warn(source, ['basic_auth_users'], `hashes in a file that ${EXPOSED}`);
  }
  for (const [user, hash] of users) {
    if ((costOf(hash ?? '') ?? MIN_COST) < MIN_COST) {
      const message = `expected a cost of at least ${MIN_COST}, as of htpasswd -nBC ${MIN_COST}`;
      loading.problems.warn(source, ['basic_auth_users', user], message);
    }
  }
  if (partial.http_server_config?.http2 === true) {
    const message = 'has no effect: the server uses HTTP/1.1';
    loading.problems.warn(source, ['http_server_config', 'http2'], message);
  }
  if (values === undefined || loading.problems.count > 0) {
    return undefined;
  }
  const config: WebConfig = {
    tls,
    headers: Object.fromEntries(
      Object.entries<string | undefined>(values.http_server_config.headers).flatMap(
        ([name, value]) => (value === undefined || value === '' ? [] : [[name, value]]),
      ),
    ),
    users: new Map(users.map(([user, hash]) => [user, new Secret(hash ?? '')])),
  };
  if (options.running !== undefined) {
    checkUnchanged(file, config, options.running, loading);
  }
  return config;
}

async function readTls(
  { source, partial, values }: LoadedFile<WebFile>,
  nowMs: number,
  loading: Loading,
): Promise<TlsConfig | undefined> {
  const section = partial.tls_server_config;
  if (section === undefined) {
    return undefined;
  }
  const { problems } = loading;
  async function read<Result>(key: keyof TlsSection, parse: (content: FileContent) => Result) {
    const name = section?.[key];
    return typeof name === 'string'
      ? loading.readNamed(source, ['tls_server_config', key], name, parse)
      : undefined;
  }
  const cert = await read('cert_file', parseCertificates);
  const key = await read('key_file', parsePrivateKey);
  const clientCa = await read('client_ca_file', parseCertificates);
  checkTlsSection(source, section, problems);
  const [first] = cert?.list ?? [];
  if (first !== undefined) {
    warnOfTime(source, first, nowMs, problems);
  }
  if (key !== undefined && isExposed(key.content)) {
    problems.warn(source, ['tls_server_config', 'key_file'], `the file ${EXPOSED}`);
  }
  const fault = cert && key && pairFault(cert, key);
  if (fault !== undefined) {
    problems.add(source, ['tls_server_config', 'key_file'], fault);
  }
  const tls = values?.tls_server_config;
  return tls && cert && key && tlsConfigOf(tls, cert.text, key.content.text, clientCa?.text);
}

function tlsConfigOf(
  section: TlsSection,
  cert: string,
  key: string,
  clientCa: string | undefined,
): TlsConfig {
  const curves = section.curve_preferences.map((name) => CURVES[name]);
  return {
    cert,
    key: new Secret(key),
    clientAuth: section.client_auth_type,
    clientCa,
    minVersion: TLS_VERSIONS[section.min_version],
    maxVersion: TLS_VERSIONS[section.max_version],
    ciphers: ciphersOf(section.cipher_suites),
    curves: curves.length === 0 ? undefined : curves.join(':'),
    preferServerCiphers: section.prefer_server_cipher_suites,
  };
}

/** As in Go, those of TLS 1.3 stay: OpenSSL would switch TLS 1.3 off without them. */
function ciphersOf(names: TlsSection['cipher_suites']): string | undefined {
  const old = names.flatMap((name) =>
    Object.hasOwn(CIPHERS_12, name) ? [CIPHERS_12[name as keyof typeof CIPHERS_12]] : [],
  );
  return old.length === 0 ? undefined : [...CIPHERS_13, ...old].join(':');
}

function checkTlsSection(
  source: YamlSource,
  section: DeepPartial<TlsSection>,
  problems: Problems,
): void {
  const { min_version: min, max_version: max, client_auth_type: auth } = section;
  if (min === 'TLS13' && max === 'TLS12') {
    const message = 'expected at most max_version, got a newer one';
    problems.add(source, ['tls_server_config', 'min_version'], message);
  }
  const path = ['tls_server_config', 'client_ca_file'];
  const hasCa = source.has(path) || problems.has(source, path);
  const isAuthGiven = source.has(['tls_server_config', 'client_auth_type']);
  if (hasCa && (auth === 'NoClientCert' || (auth === undefined && !isAuthGiven))) {
    problems.add(source, path, 'has no effect with NoClientCert: set client_auth_type');
  }
  if (!hasCa && auth !== undefined && VERIFYING.includes(auth)) {
    problems.add(source, path, `expected a file, which ${auth} needs, got nothing`);
  }
}

function pairFault({ list: [first], text }: Certificates, key: PrivateKey): string | undefined {
  if (first?.checkPrivateKey(key.key) !== true) {
    return 'expected the key of the certificate in cert_file, got another';
  }
  try {
    createSecureContext({ cert: text, key: key.content.text });
    return undefined;
  } catch {
    return 'expected RSA of at least 2048 bits or ECDSA, got a key that TLS cannot use';
  }
}

function warnOfTime(
  source: YamlSource,
  certificate: X509Certificate,
  nowMs: number,
  problems: Problems,
): void {
  const path = ['tls_server_config', 'cert_file'];
  if (certificate.validToDate.getTime() <= nowMs) {
    problems.warn(source, path, 'the certificate has expired');
  } else if (certificate.validFromDate.getTime() > nowMs) {
    problems.warn(source, path, 'the certificate is not valid yet');
  }
}

/** A port cannot change between http and https, nor whether it asks for certificates. */
function checkUnchanged(
  { source }: LoadedFile<WebFile>,
  next: WebConfig,
  running: WebConfig,
  { problems }: Loading,
): void {
  if ((next.tls === undefined) !== (running.tls === undefined)) {
    const message = 'cannot be added or removed while running: restart the exporter';
    problems.add(source, ['tls_server_config'], message);
  } else if (next.tls?.clientAuth !== running.tls?.clientAuth) {
    const message = 'cannot change while running: restart the exporter';
    problems.add(source, ['tls_server_config', 'client_auth_type'], message);
  }
}
