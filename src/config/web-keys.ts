/**
 * Every key of the web configuration, the file that Prometheus's own exporters take
 * (prometheus/exporter-toolkit, docs/web-configuration.md). What is not supported is refused in
 * words: a protection that is silently not there is worse than none.
 */
import { listOf } from './lists.ts';
import { mapping } from './mapping.ts';
import type { KeyRule, KeyTable, Section } from './mapping.ts';
import { record } from './record.ts';
import { filePath, oneOf, Refusal, scalar, trueOrFalse } from './shapes.ts';
import type { Shape } from './shapes.ts';
import { CIPHERS_12, CIPHERS_13, CURVES, TLS_VERSIONS } from './tls-names.ts';
import { CLIENT_AUTHS } from './web-types.ts';

const CIPHERS = [...namesOf(CIPHERS_12), ...CIPHERS_13] as const;

export const TLS_KEYS = {
  cert_file: {
    about: "The server's certificate, and those that lead to its authority, as PEM.",
    shape: filePath('a file with the certificate, as in server.pem'),
    required: true,
  },
  key_file: {
    about: 'The key of the certificate, as PEM, without a password.',
    shape: filePath('a file with the key, as in server-key.pem'),
    required: true,
  },
  client_auth_type: {
    about: 'Whether clients need a certificate.',
    shape: oneOf(CLIENT_AUTHS),
    default: 'NoClientCert',
  },
  client_ca_file: {
    about: "The authorities that may sign clients' certificates, as PEM.",
    shape: filePath('a file with certificates, as in clients-ca.pem'),
  },
  min_version: {
    about: 'The oldest version of TLS.',
    shape: oneOf(namesOf(TLS_VERSIONS)),
    default: 'TLS12',
  },
  max_version: {
    about: 'The newest version of TLS.',
    shape: oneOf(namesOf(TLS_VERSIONS)),
    default: 'TLS13',
  },
  cipher_suites: {
    about: 'The ciphers of TLS 1.2, the best first.',
    shape: words(CIPHERS, {
      expects: "Go's names of ciphers with forward secrecy",
      example: 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
    }),
    default: [],
  },
  prefer_server_cipher_suites: {
    about: 'Whether the order of cipher_suites counts, rather than that of the client.',
    shape: trueOrFalse(),
    default: true,
  },
  curve_preferences: {
    about: 'The elliptic curves, the best first.',
    shape: words(namesOf(CURVES), {
      expects: `any of ${namesOf(CURVES).join(', ')}`,
      example: 'X25519',
    }),
    default: [],
  },
  client_allowed_sans: unsupported(
    'remove it, and let client_ca_file sign nobody who is not to get in',
  ),
  cert: unsupported('put it into a file, and name that under cert_file'),
  key: unsupported('put it into a file, and name that under key_file'),
  client_ca: unsupported('put it into a file, and name that under client_ca_file'),
} as const satisfies KeyTable;

export const HEADER_KEYS = {
  'Content-Security-Policy': header('What a browser may load; the status page keeps its own.'),
  'X-Frame-Options': {
    about: 'Whether a page may be in a frame.',
    shape: oneOf(['deny', 'sameorigin']),
  },
  'X-Content-Type-Options': {
    about: 'Whether a browser may guess the type; nosniff in any case.',
    shape: oneOf(['nosniff']),
  },
  'X-XSS-Protection': header('For old browsers.'),
  'Strict-Transport-Security': header('How long a browser insists on https.'),
} as const satisfies KeyTable;

export const HTTP_KEYS = {
  http2: {
    about: 'Taken, and of no effect: HTTP/1.1 is spoken.',
    shape: trueOrFalse(),
  },
  headers: {
    about: 'Headers of every answer.',
    shape: mapping(HEADER_KEYS, { expects: 'headers such as Strict-Transport-Security' }),
    default: {},
  },
} as const satisfies KeyTable;

const MOST_USERS = 1_000;

export const WEB_KEYS = {
  tls_server_config: {
    about: 'Encryption; without it, plain http.',
    shape: mapping(TLS_KEYS, { expects: 'keys such as cert_file and key_file', elsewhere }),
  },
  http_server_config: {
    about: 'Headers.',
    shape: mapping(HTTP_KEYS, { expects: 'headers', elsewhere }),
    default: {},
  },
  basic_auth_users: {
    about: 'Users, each with the bcrypt hash of the password.',
    shape: record(bcryptHash(), {
      expects: 'users with the hashes of their passwords, as in { prometheus: $2y$10$… }',
      most: MOST_USERS,
      keyProblem: userProblem,
      keySchema: { type: 'string' },
    }),
  },
  rate_limit: unsupported('remove it; connections and requests under way have limits of their own'),
} as const satisfies KeyTable;

export const WEB_CONFIGURATION = mapping(WEB_KEYS, {
  expects: 'keys such as tls_server_config and basic_auth_users',
  elsewhere,
});

export type WebSection = Section<typeof WEB_KEYS>;
export type TlsSection = Section<typeof TLS_KEYS>;
export type HttpSection = Section<typeof HTTP_KEYS>;

/** The names of all keys, at every level. */
export function webKeyNames(): ReadonlySet<string> {
  return new Set([WEB_KEYS, TLS_KEYS, HTTP_KEYS, HEADER_KEYS].flatMap((table) => namesOf(table)));
}

/** Takes some four seconds a check. */
const HIGHEST_COST = 16;

/** The text itself, never quoted. */
function bcryptHash(): Shape<string> {
  return scalar({
    expects: 'the hash that htpasswd -nBC 10 USER prints after the colon',
    accepts: ['text'],
    parse(value) {
      const cost = costOf(value);
      if (cost === undefined) {
        return new Refusal('is not a bcrypt hash');
      }
      return cost > HIGHEST_COST
        ? new Refusal(`has a cost above ${HIGHEST_COST}, with which a check takes too long`)
        : value;
    },
  });
}

/** How often a hash repeats its work, as a power of two; undefined for what is not one. */
export function costOf(hash: string): number | undefined {
  const cost = Number(/^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(hash)?.[1]);
  return cost >= 4 && cost <= 31 ? cost : undefined;
}

function userProblem(name: string): string | undefined {
  return name === '' || name.includes(':') || /\p{Cc}/u.test(name) || !name.isWellFormed()
    ? 'cannot be the name of a user: give one without a colon'
    : undefined;
}

/** In which part a key belongs, if it is known in one at all. */
function elsewhere(key: string): string | undefined {
  const parts = [
    ['tls_server_config', TLS_KEYS],
    ['http_server_config', HTTP_KEYS],
    ['headers, in http_server_config', HEADER_KEYS],
    ['no other key, at the beginning of a line', WEB_KEYS],
  ] as const;
  return parts.find(([, table]) => Object.hasOwn(table, key))?.[0];
}

function words<const Word extends string>(
  choices: readonly Word[],
  { expects, example }: { readonly expects: string; readonly example: Word },
) {
  const word = oneOf(choices, `${expects}, as in ${example}`);
  return listOf(word, { expects: `a list of ${expects}, as in [${example}]` });
}

function header(about: string) {
  return {
    about,
    shape: scalar({
      expects: 'text for a header, in ASCII',
      accepts: ['text', 'number'],
      parse: (value) =>
        /^[ -~]{0,2048}$/.test(value) ? value : new Refusal('cannot be in a header'),
    }),
  };
}

/** `remedy` is what would be right. The key is known, so that what follows it is not taken for one. */
function unsupported(remedy: string) {
  return {
    about: 'Not supported.',
    shape: {
      expects: 'nothing',
      schema: { not: {} },
      read(node, at, { problems }) {
        problems.add({ place: node.place, path: at, message: `is not supported here: ${remedy}` });
        return undefined;
      },
    },
  } satisfies KeyRule<undefined>;
}

function namesOf<Table extends object>(table: Table): readonly (keyof Table & string)[] {
  return Object.keys(table) as (keyof Table & string)[];
}
