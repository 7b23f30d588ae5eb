/**
 * The web configuration, the file that Prometheus's own exporters take. Keys that are not supported are
 * problems: silently missing protection is worse than none
 * (https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md).
 */
import { createSecureContext } from 'node:tls';
import { z } from 'zod';
import type { FileContent } from '../base/files.ts';
import { Secret } from '../base/secret.ts';
import { CLIENT_AUTHS } from '../base/web-config.ts';
import type { ClientAuth, TlsConfig, WebConfig } from '../base/web-config.ts';
import { parseCertificates } from './credentials.ts';
import { ConfigReader, failOn } from './reader.ts';
import type { DeepPartial, LoadResult } from './reader.ts';
import { mapping, oneOf, path } from './values.ts';
import type { YamlFile } from './yaml-file.ts';

const TLS_VERSIONS = { TLS12: 'TLSv1.2', TLS13: 'TLSv1.3' } as const;

type WebFile = z.output<ReturnType<typeof createWebSchema>>;

/** Returns the schema of the web configuration. */
function createWebSchema() {
  const tls = z.strictObject({
    cert_file: path('a file with the certificate'),
    key_file: path('a file with the key'),
    client_auth_type: oneOf(CLIENT_AUTHS).default('NoClientCert'),
    client_ca_file: path('a file with certificates').optional(),
    min_version: oneOf(['TLS12', 'TLS13']).default('TLS12'),
  });
  const userName = z
    .string()
    .regex(/^[^:\p{Cc}\p{Cs}]+$/u)
    .meta({ expected: 'a user name without a colon' });
  const hash = z
    .string()
    // A check at the highest cost takes about four seconds.
    .regex(/^\$2[aby]\$(0[4-9]|1[0-6])\$[./A-Za-z0-9]{53}$/)
    .meta({ expected: 'a bcrypt hash with a cost from 4 to 16, as of htpasswd -nBC 10 USER' });
  return z
    .strictObject({
      tls_server_config: mapping(tls)
        .meta({ expected: 'a mapping with cert_file and key_file' })
        .optional(),
      basic_auth_users: mapping(
        z.record(userName, hash).refine((entries) => Object.keys(entries).length > 0),
      )
        .meta({ expected: 'users with bcrypt hashes such as { prometheus: $2y$10$… }' })
        .optional(),
    })
    .meta({ expected: 'a mapping with tls_server_config or basic_auth_users' });
}

/**
 * Loads the web configuration. Throws a ConfigError with its problems and `others`. `running` is the
 * configuration that the server was started with: some of it cannot change.
 */
export async function loadWebConfig(
  options: {
    readonly path: string;
    readonly env: NodeJS.ProcessEnv;
    readonly running?: WebConfig | undefined;
  },
  others: readonly string[] = [],
): Promise<LoadResult<WebConfig>> {
  const schema = createWebSchema();
  const reader = new ConfigReader(schema, options.env);
  const { file, values } = await reader.readYaml(options.path, schema);
  const section = values.tls_server_config;
  const tls = section && (await readTls(file, section, reader));
  if (values.basic_auth_users !== undefined) {
    file.warnOfSecrets(['basic_auth_users'], 'hashes');
  }
  if (options.running !== undefined && file.problems.length === 0) {
    checkUnchanged(file, tls, options.running.tls);
  }
  failOn([...others, ...reader.problems]);
  const { basic_auth_users: users = {} } = values as WebFile;
  const { digest, warnings } = reader;
  const hashes = Object.entries(users).map(([user, hash]) => [user, new Secret(hash)] as const);
  return { config: { tls, users: new Map(hashes) }, digest, warnings };
}

/** Returns what the section says and its files hold. After a problem, it is incomplete. */
async function readTls(
  file: YamlFile,
  section: NonNullable<DeepPartial<WebFile>['tls_server_config']>,
  reader: ConfigReader,
): Promise<TlsConfig> {
  function read<Result>(
    key: 'cert_file' | 'key_file' | 'client_ca_file',
    parse: (content: FileContent) => Result,
  ) {
    const path = ['tls_server_config', key];
    return reader.readNamed(file, path, section[key], parse, key === 'key_file');
  }
  const cert = await read('cert_file', parseCertificates);
  const key = await read('key_file', ({ text }) => parseKey(text, cert));
  const clientCa = await read('client_ca_file', parseCertificates);
  const clientAuth = section.client_auth_type;
  checkClientAuth(file, clientAuth);
  const minVersion = TLS_VERSIONS[section.min_version ?? 'TLS12'];
  return { cert, key, clientAuth, clientCa, minVersion } as TlsConfig;
}

/** Returns the key of a certificate. Throws an Error if it is encrypted or that of another one. */
function parseKey(key: string, cert: string | undefined): Secret {
  try {
    createSecureContext({ cert, key });
  } catch {
    // The library's message may quote the key.
    throw new Error('is not the unencrypted PEM key of the certificate in cert_file');
  }
  return new Secret(key);
}

function checkClientAuth(file: YamlFile, clientAuth: ClientAuth | undefined): void {
  const path = ['tls_server_config', 'client_ca_file'];
  if (file.has(path) && clientAuth === 'NoClientCert') {
    file.add(path, 'has no effect with NoClientCert: set client_auth_type');
  }
  if (!file.has(path) && clientAuth?.includes('Verify') === true) {
    file.add(path, `expected a file, which ${clientAuth} needs, got nothing`);
  }
}

/** Reports what cannot change: http or https, and whether the port asks for certificates. */
function checkUnchanged(
  file: YamlFile,
  tls: TlsConfig | undefined,
  running: TlsConfig | undefined,
): void {
  if (tls?.clientAuth !== running?.clientAuth) {
    const section = ['tls_server_config'];
    const path = tls && running ? [...section, 'client_auth_type'] : section;
    file.add(path, 'cannot change while running: restart the exporter');
  }
}
