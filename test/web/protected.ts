/** Web servers with authentication and TLS, and clients over real sockets. */
import { request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders, RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ConnectionOptions } from 'node:tls';
import { hashSync } from '@node-rs/bcrypt';
import { onTestFinished } from 'vitest';
import { Secret } from '../../src/base/secret.ts';
import { createWebServer } from '../../src/web/server.ts';
import type { TlsConfig, WebConfig } from '../../src/base/web-config.ts';
import type { WebServer, WebServerOptions } from '../../src/web/server.ts';
import type { Certified } from '../support/certificates.ts';
import { webOptions } from './fixtures.ts';

export const PASSWORD = 'swift-lantern-orchard';
/** The lowest cost of bcrypt. */
const COST = 4;

export function hashOf(password: string | Uint8Array, cost = COST): Secret {
  return new Secret(hashSync(password, cost));
}

export const USERS: ReadonlyMap<string, Secret> = new Map([['prometheus', hashOf(PASSWORD)]]);

export function basic(user: string, password: string | Uint8Array): string {
  const bytes = Buffer.concat([Buffer.from(`${user}:`), Buffer.from(password)]);
  return `Basic ${bytes.toString('base64')}`;
}

export const CHALLENGE = 'Basic realm="library-stats-exporter", charset="UTF-8"';

export const GOOD = { authorization: basic('prometheus', PASSWORD) };

export function protectionWith(changes: Partial<WebConfig> = {}): WebConfig {
  return { tls: undefined, users: new Map(), ...changes };
}

export function tlsWith({ cert, key }: Certified, changes: Partial<TlsConfig> = {}): TlsConfig {
  return {
    cert,
    key: new Secret(key),
    clientAuth: 'NoClientCert',
    clientCa: undefined,
    minVersion: 'TLSv1.2',
    ...changes,
  };
}

export async function protectedServer(
  protection: Partial<WebConfig>,
  changes: Partial<WebServerOptions> = {},
): Promise<{ readonly server: WebServer; readonly url: string }> {
  const server = createWebServer(
    webOptions({ ...changes, protection: protectionWith(protection) }),
  );
  const { url } = await server.start();
  onTestFinished(() => server.stop());
  return { server, url };
}

export interface Got {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends the path unchanged, which fetch does not. Rejects if the connection fails. */
export function ask(
  url: string,
  path: string,
  options: RequestOptions & ConnectionOptions = {},
): Promise<Got> {
  const { hostname, port, protocol } = new URL(url);
  const request = protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const asking = request({ hostname, port, path, agent: false, ...options }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
      });
    });
    asking.on('error', reject).end();
  });
}

export interface RawConnection {
  readonly socket: Socket;
  /** Everything received, once the connection is closed. */
  readonly ended: Promise<string>;
}

/** A connection for raw data. */
export async function connected(url: string, tls?: ConnectionOptions): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket =
    tls === undefined
      ? connect(Number(port), hostname)
      : connectTls({ host: hostname, port: Number(port), ...tls });
  const ended = new Promise<string>((resolve) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('error', () => resolve(text));
    socket.on('close', () => resolve(text));
  });
  await new Promise((resolve) =>
    socket.once(tls === undefined ? 'connect' : 'secureConnect', resolve),
  );
  onTestFinished(() => void socket.destroy());
  return { socket, ended };
}

/** A server that requires a password of {@link USERS}. */
export function guarded(changes: Partial<WebServerOptions> = {}) {
  return protectedServer({ users: USERS }, changes);
}
