/** A port that nobody has at the moment, for programs that cannot pick one themselves. */
import { createServer } from 'node:http';
import { listen } from '../src/base/listen.ts';

export async function freePort(): Promise<number> {
  const server = createServer();
  const address = await listen(server, { host: '127.0.0.1', port: 0 });
  server.close();
  return Number(address.split(':')[1]);
}
