/** A proxy that records requests, and opens tunnels or refuses them. It ends with the test. */
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { listen } from './fake-service.ts';

export interface Proxy {
  readonly url: string;
  readonly seen: string[];
}

export async function startProxy(allow: boolean): Promise<Proxy> {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers['proxy-authorization']}`);
    response.writeHead(502).end();
  });
  server.on('connect', (request, client: Socket) => {
    seen.push(`CONNECT ${request.url} ${request.headers['proxy-authorization']}`);
    client.on('error', () => {});
    if (!allow) {
      client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      return;
    }
    const { hostname, port } = new URL(`http://${request.url}`);
    const target = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(target).pipe(client);
    });
    sockets.add(client).add(target);
    target.on('error', () => client.destroy());
  });
  const port = await listen(server);
  onTestFinished(async () => {
    sockets.forEach((socket) => socket.destroy());
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://user:proxy-password@127.0.0.1:${port}`, seen };
}
