/** Web servers with authentication and TLS, and clients over real sockets. */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ConnectionOptions } from 'node:tls';
import { hashSync } from '@node-rs/bcrypt';
import { onTestFinished } from 'vitest';
import { Secret } from '../../src/base/secret.ts';
import { createWebServer } from '../../src/web/server.ts';
import type { TlsConfig, WebConfig } from '../../src/base/web-config.ts';
import type { WebServerOptions } from '../../src/web/server.ts';
import type { Certified } from '../support/certificates.ts';
import { webOptions } from './fixtures.ts';

export const PASSWORD = 'swift-lantern-orchard';

export const USERS: ReadonlyMap<string, Secret> = new Map([
  ['prometheus', new Secret(hashSync(PASSWORD, 4))],
]);

export function basic(user: string, password: string | Uint8Array): string {
  const bytes = Buffer.concat([Buffer.from(`${user}:`), Buffer.from(password)]);
  return `Basic ${bytes.toString('base64')}`;
}

export function tlsWith({ cert, key }: Certified, changes: Partial<TlsConfig> = {}): TlsConfig {
  const clients = { clientAuth: 'NoClientCert', clientCa: undefined } as const;
  return { cert, key: new Secret(key), ...clients, minVersion: 'TLSv1.2', ...changes };
}

/** Starts a server, which stops with the test. */
export async function protectedServer(
  protection: Partial<WebConfig>,
  changes: Partial<WebServerOptions> = {},
) {
  const whole = { tls: undefined, users: new Map(), ...protection };
  const server = createWebServer(webOptions({ ...changes, protection: whole }));
  const { url } = await server.start();
  onTestFinished(() => server.stop());
  return { server, url };
}

export async function urlOf(changes: Partial<WebServerOptions> = {}): Promise<string> {
  return (await protectedServer({}, changes)).url;
}

/** Sends the path unchanged, which fetch does not. Rejects if the connection fails. */
export async function ask(
  url: string,
  path: string,
  options: RequestOptions & ConnectionOptions = {},
) {
  const { hostname, port, protocol } = new URL(url);
  const request = protocol === 'https:' ? httpsRequest : httpRequest;
  const asking = request({ hostname, port, path, agent: false, ...options }).end();
  const [response] = (await once(asking, 'response')) as [IncomingMessage];
  const { statusCode: status = 0, headers } = response;
  const { localPort } = response.socket;
  return { status, headers, localPort, body: await text(response) };
}

/** A connection for raw data. `ended` is all data, once it is closed. */
export async function connected(url: string) {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port) });
  onTestFinished(() => void socket.destroy());
  const ended = new Promise<string>((resolve) => {
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    socket.on('error', () => resolve(received)).on('close', () => resolve(received));
  });
  await once(socket, 'connect');
  return { socket, ended };
}
