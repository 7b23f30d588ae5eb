/** `start-peer.ts FILE`: loads the libraries that the daemon loads, parses its file and listens. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [file = ''] = process.argv.slice(2);
const [{ parse }] = await Promise.all([
  import('yaml'),
  import('got'),
  import('opening_hours'),
  import('pino'),
  import('prom-client'),
  import('zod'),
]);
parse(readFileSync(file, 'utf8'));
createServer().listen(0, '127.0.0.1', () => process.stdout.write('listening\n'));
// Only a program that ends by itself keeps what it has compiled, for its next start.
process.on('SIGTERM', () => process.exit());
