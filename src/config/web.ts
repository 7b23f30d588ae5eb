/**
 * From the web configuration file, and the certificates that it names, to how the web server is
 * protected, or to all that is wrong with it. Must not know what is done with it.
 */
import { resolve } from 'node:path';
import { Secret } from '../base/secret.ts';
import { joinPath } from './entries.ts';
import type { Environment } from './expand.ts';
import { parseFile } from './parse-file.ts';
import { isReadableByOthers, READABLE_BY_OTHERS } from './permissions.ts';
import { Problems } from './problems.ts';
import { find } from './shapes.ts';
import type { Found, Reader } from './shapes.ts';
import type { Place } from './source.ts';
import { costOf, WEB_CONFIGURATION, webKeyNames } from './web-keys.ts';
import type { HttpSection, WebSection } from './web-keys.ts';
import { readTls } from './web-tls.ts';
import type { WebReading } from './web-tls.ts';
import type { WebConfig } from './web-types.ts';

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
  const reading: WebReading = {
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

function giveUp(problems: Problems): never {
  problems.throwIfAny();
  throw new Error('a web configuration was refused without a problem');
}

/** Without those that are blank. */
function headersOf(section: HttpSection | undefined, reading: WebReading): Record<string, string> {
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

function usersOf(section: WebSection, mode: number, reading: WebReading): Map<string, Secret> {
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
      const path = joinPath(users.path, user);
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
