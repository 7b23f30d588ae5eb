/**
 * The peer of the start: loads the libraries that the daemon loads, parses its file and listens. Run as
 * `peer.ts FILE PORT`.
 */
import { readFileSync } from 'node:fs';

const [file = '', port = ''] = process.argv.slice(2);
const [{ fastify }, { parse }] = await Promise.all([
  import('fastify'),
  import('yaml'),
  import('got'),
  import('opening_hours'),
  import('pino'),
  import('prom-client'),
  import('zod'),
]);
parse(readFileSync(file, 'utf8'));
await fastify().listen({ host: '127.0.0.1', port: Number(port) });
// Only a program that ends by itself keeps what it has compiled, for its next start.
process.on('SIGTERM', () => process.exit());
