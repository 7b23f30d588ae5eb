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
import type { WebConfig } from '../base/web-config.ts';
import { parseCertificates } from './credentials.ts';
import { SchemaKeys } from './problems.ts';
import { ConfigReader, failOn } from './reader.ts';
import type { LoadResult } from './reader.ts';
import * as type from './values.ts';

const TLS_VERSIONS = { TLS12: 'TLSv1.2', TLS13: 'TLSv1.3' } as const;

const TLS = type
  .section('a mapping with cert_file and key_file', {
    cert_file: type.path('a file with the certificate'),
    key_file: type.path('a file with the key'),
    client_auth_type: type.oneOf(CLIENT_AUTHS).default('NoClientCert'),
    client_ca_file: type.path('a file with certificates').optional(),
    min_version: type.oneOf(['TLS12', 'TLS13']).default('TLS12'),
  })
  .superRefine(({ client_ca_file: file, client_auth_type: auth }, rules) => {
    const message =
      auth === 'NoClientCert'
        ? 'has no effect with NoClientCert: set client_auth_type'
        : `expected a file, which ${auth} needs, got nothing`;
    if (file === undefined ? auth.includes('Verify') : auth === 'NoClientCert') {
      rules.addIssue({ code: 'custom', path: ['client_ca_file'], message });
    }
  });

const USER_NAME = type.hidden('a user name without a colon', (name) =>
  /^[^:\p{Cc}\p{Cs}]+$/u.test(name),
);

const HASH = type.hidden(
  'a bcrypt hash with a cost from 4 to 16, as of htpasswd -nBC 10 USER',
  // A check at the highest cost takes about four seconds.
  (text) => /^\$2[aby]\$(0[4-9]|1[0-6])\$[./A-Za-z0-9]{53}$/.test(text),
);

const USERS_EXPECTED = type.expected('users with bcrypt hashes such as { prometheus: $2y$10$… }');
const USERS = z
  .record(USER_NAME, HASH, USERS_EXPECTED)
  .refine((entries) => Object.keys(entries).length > 0, USERS_EXPECTED);

const WEB = type.mapping(
  type.section('a mapping with tls_server_config or basic_auth_users', {
    tls_server_config: type.mapping(TLS).optional(),
    basic_auth_users: type.mapping(USERS).optional(),
  }),
);
const KEYS = new SchemaKeys(WEB);

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
  const reader = new ConfigReader(options.env, KEYS);
  const file = await reader.readYaml(options.path);
  const values = reader.validate(WEB, { file, path: [] });
  function read<Result>(key: string, parse: (content: FileContent) => Result) {
    return reader.readNamed(file, ['tls_server_config', key], parse, key === 'key_file');
  }
  const cert = await read('cert_file', parseCertificates);
  const key = await read('key_file', ({ text }) => parseKey(text, cert));
  const clientCa = await read('client_ca_file', parseCertificates);
  const keys = values?.tls_server_config;
  const tls = keys && {
    cert: cert ?? '',
    key: key ?? new Secret(''),
    clientAuth: keys.client_auth_type,
    clientCa,
    minVersion: TLS_VERSIONS[keys.min_version],
  };
  if (values?.basic_auth_users !== undefined) {
    file.warnOfSecrets(['basic_auth_users'], 'hashes');
  }
  if (options.running !== undefined && file.problems.length === 0) {
    const { tls: running } = options.running;
    if (tls?.clientAuth !== running?.clientAuth) {
      // http or https, and whether the port asks for certificates.
      const path = ['tls_server_config', ...(tls && running ? ['client_auth_type'] : [])];
      file.add(path, 'cannot change while running: restart the exporter');
    }
  }
  failOn([...others, ...reader.problems]);
  const users = Object.entries(values?.basic_auth_users ?? {});
  const hashes = users.map(([user, hash]) => [user, new Secret(hash)] as const);
  const { digest, warnings } = reader;
  return { config: { tls, users: new Map(hashes) }, digest, warnings };
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
