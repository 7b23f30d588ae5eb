/** A proxy that records requests, and opens tunnels or refuses them. It ends with the test. */
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { listen } from '../../../src/base/listen.ts';
import { LOOPBACK } from '../../support/scripted-server.ts';

export async function startProxy(allow: boolean) {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer(({ method, url, headers }, response) => {
    seen.push(`${method} ${url} ${headers['proxy-authorization']}`);
    response.writeHead(502).end();
  });
  server.on('connect', ({ url, headers }, client: Socket) => {
    seen.push(`CONNECT ${url} ${headers['proxy-authorization']}`);
    client.on('error', () => {});
    if (!allow) {
      client.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      return;
    }
    const { hostname, port } = new URL(`http://${url}`);
    const target = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(target).pipe(client);
    });
    sockets.add(client).add(target);
    target.on('error', () => client.destroy());
  });
  const address = await listen(server, LOOPBACK);
  onTestFinished(async () => {
    sockets.forEach((socket) => socket.destroy());
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://user:proxy-password@${address}`, seen };
}
