/** `query` as a process whose reader closes the pipe. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ALWAYS_OPEN } from '../../src/simulator/libraries.ts';
import { startWorld } from './simulated-world.ts';

/** More than two hundred thousand logins in five weeks. */
const BUSY = { library: { visitsPerDay: 8_500, loginShare: 1, opening: ALWAYS_OPEN } };

/** The first request draws the traffic of five weeks. */
const SLOW = { service: { timeout: '60s' } };

test('ends early and without a message if its reader closes the pipe', async () => {
  await using world = await startWorld({ riverside: BUSY });
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const pipe = ['-o', 'pipefail', '-c', '"$0" "$@" | head -1', process.execPath, main];
  const query = ['query', 'login', world.config(SLOW), '--format=csv', '--limit=100'];
  // Rejects if the status is not 0.
  const { stdout, stderr } = await promisify(execFile)('bash', [...pipe, ...query]);
  expect(stdout).toMatch(/^id,[^\n]*\n$/);
  expect(stderr).toBe('');
});
