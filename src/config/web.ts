/**
 * The web configuration, the file that Prometheus's own exporters take (prometheus/exporter-toolkit,
 * docs/web-configuration.md). Every other key of it is a problem: silently missing protection is worse
 * than none.
 */
import { createSecureContext } from 'node:tls';
import { z } from 'zod';
import { Secret } from '../base/secret.ts';
import { Loading } from './loading.ts';
import type { LoadedFile } from './loading.ts';
import type { FileContent } from './read-file.ts';
import { EXPOSED, isExposed, parseCertificates, parsePrivateKey } from './secret-file.ts';
import { CLIENT_AUTHS } from './types.ts';
import type { TlsConfig, WebConfig } from './types.ts';
import { checkedString, mapping, oneOf, path } from './values.ts';
import type { Environment } from './yaml-values.ts';

export interface LoadedWebConfig {
  readonly config: WebConfig;
  /** Every file that was read, absolute: the web configuration, certificates and keys. */
  readonly files: readonly string[];
  /** What works but should be changed, each with its place. */
  readonly warnings: readonly string[];
}

const TLS_VERSIONS = { TLS12: 'TLSv1.2', TLS13: 'TLSv1.3' } as const;

const MAX_USERS = 1_000;
/** With a lower cost, a leaked hash can be broken too fast. */
const MIN_COST = 10;
/** A check at this cost takes about four seconds. */
const MAX_COST = 16;

type WebFile = z.output<ReturnType<typeof createWebSchema>>;

export function createWebSchema() {
  const tls = z.strictObject({
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
    min_version: oneOf(['TLS12', 'TLS13']).default('TLS12').describe('Oldest TLS version.'),
    max_version: oneOf(['TLS12', 'TLS13']).default('TLS13').describe('Newest TLS version.'),
  });
  const users = 'users with bcrypt hashes such as { prometheus: $2y$10$… }';
  return z
    .strictObject({
      tls_server_config: tls
        .meta({ expected: 'a mapping with cert_file and key_file' })
        .optional()
        .describe('TLS. Without it, the server uses plain http.'),
      basic_auth_users: mapping(userName(), bcryptHash(), MAX_USERS, users)
        .refine((entries) => Object.keys(entries).length > 0)
        .optional()
        .describe('Users with the bcrypt hashes of their passwords.'),
    })
    .meta({ expected: 'a mapping with tls_server_config or basic_auth_users' });
}

function userName() {
  return checkedString((name) => (name === '' || /[:\p{Cc}\p{Cs}]/u.test(name) ? {} : undefined), {
    expected: 'a user name without a colon',
  });
}

function bcryptHash() {
  return checkedString((hash) => (costOf(hash) === undefined ? {} : undefined), {
    expected: `a bcrypt hash with a cost from 4 to ${MAX_COST}, as htpasswd -nBC 10 USER prints it after the colon`,
  });
}

/** The binary logarithm of the number of rounds; undefined if it is not a bcrypt hash. */
function costOf(hash: string): number | undefined {
  const cost = Number(/^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(hash)?.[1]);
  return cost >= 4 && cost <= MAX_COST ? cost : undefined;
}

/**
 * Loads the web configuration. Throws a ConfigError with all problems. `running` is the configuration that
 * the server was started with: some of it cannot change.
 */
export async function loadWebConfig(options: {
  readonly path: string;
  readonly env: Environment;
  readonly running?: WebConfig | undefined;
}): Promise<LoadedWebConfig> {
  const schema = createWebSchema();
  const loading = new Loading(schema, options.env);
  const { problems } = loading;
  const file = await loading.readYaml(options.path, schema);
  const tls = file && (await readTls(file, loading));
  const users = Object.entries(file?.values.basic_auth_users ?? {});
  if (file !== undefined) {
    warnOfUsers(file, users, loading);
    checkUnchanged(file, options.running, loading);
  }
  problems.throwIfAny();
  return {
    config: { tls, users: new Map(users.map(([user, hash]) => [user, new Secret(hash ?? '')])) },
    files: [...loading.files],
    warnings: problems.warnings,
  };
}

async function readTls(
  file: LoadedFile<WebFile>,
  loading: Loading,
): Promise<TlsConfig | undefined> {
  const { source, values } = file;
  const section = values.tls_server_config;
  if (section === undefined) {
    return undefined;
  }
  async function read<Result>(
    key: 'cert_file' | 'key_file' | 'client_ca_file',
    parse: (content: FileContent) => Result,
  ) {
    const name = section?.[key];
    return name === undefined
      ? undefined
      : loading.readNamed(source, ['tls_server_config', key], name, parse);
  }
  checkTlsSection(file, loading);
  const cert = await read('cert_file', parseCertificates);
  const key = await read('key_file', parsePrivateKey);
  const clientCa = await read('client_ca_file', parseCertificates);
  if (cert === undefined || key === undefined) {
    return undefined;
  }
  const path = ['tls_server_config', 'key_file'];
  if (isExposed(key)) {
    loading.problems.warn(source, path, `the file ${EXPOSED}`);
  }
  try {
    createSecureContext({ cert, key: key.text });
  } catch {
    const expected = 'expected the key of the certificate in cert_file, RSA of at least 2048 bits';
    loading.problems.add(source, path, `${expected} or ECDSA, got another`);
  }
  return {
    cert,
    key: new Secret(key.text),
    clientAuth: section.client_auth_type ?? 'NoClientCert',
    clientCa,
    minVersion: TLS_VERSIONS[section.min_version ?? 'TLS12'],
    maxVersion: TLS_VERSIONS[section.max_version ?? 'TLS13'],
  };
}

function checkTlsSection({ source, values }: LoadedFile<WebFile>, { problems }: Loading): void {
  const { min_version: min, max_version: max, ...section } = values.tls_server_config ?? {};
  const hasWrongAuth = problems.has(source, ['tls_server_config', 'client_auth_type']);
  const auth = hasWrongAuth ? undefined : (section.client_auth_type ?? 'NoClientCert');
  if (min === 'TLS13' && max === 'TLS12') {
    const message = 'expected at most max_version, got a newer one';
    problems.add(source, ['tls_server_config', 'min_version'], message);
  }
  const path = ['tls_server_config', 'client_ca_file'];
  const hasCa = source.has(path) || problems.has(source, path);
  if (hasCa && auth === 'NoClientCert') {
    problems.add(source, path, 'has no effect with NoClientCert: set client_auth_type');
  }
  if (!hasCa && (auth === 'VerifyClientCertIfGiven' || auth === 'RequireAndVerifyClientCert')) {
    problems.add(source, path, `expected a file, which ${auth} needs, got nothing`);
  }
}

function warnOfUsers(
  { source, content }: LoadedFile<WebFile>,
  users: readonly (readonly [string, string | undefined])[],
  { problems }: Loading,
): void {
  if (users.length > 0 && isExposed(content)) {
    problems.warn(source, ['basic_auth_users'], `hashes in a file that ${EXPOSED}`);
  }
  for (const [user, hash = ''] of users) {
    if ((costOf(hash) ?? MIN_COST) < MIN_COST) {
      const message = `expected a cost of at least ${MIN_COST}, as of htpasswd -nBC ${MIN_COST}`;
      problems.warn(source, ['basic_auth_users', user], message);
    }
  }
}

/** A port cannot change between http and https, nor whether it asks for certificates. */
function checkUnchanged(
  { source, values }: LoadedFile<WebFile>,
  running: WebConfig | undefined,
  { problems }: Loading,
): void {
  const { tls_server_config: tls } = values;
  const message = 'cannot change while running: restart the exporter';
  if (running === undefined || problems.count > 0) {
    return;
  }
  if ((tls === undefined) !== (running.tls === undefined)) {
    problems.add(source, ['tls_server_config'], message);
  } else if (tls?.client_auth_type !== running.tls?.clientAuth) {
    problems.add(source, ['tls_server_config', 'client_auth_type'], message);
  }
}
