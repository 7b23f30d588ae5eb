/** `query` as a process: memory, and a closed pipe. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { ALWAYS_OPEN } from '../../src/simulator/libraries.ts';
import { launch, Workspace } from '../acceptance/daemon.ts';
import { startWorld } from './simulated-world.ts';

const workspace = new Workspace();
afterAll(() => workspace.close());

/** More than two hundred thousand logins in five weeks. */
const BUSY = { library: { visitsPerDay: 8_500, loginShare: 1, opening: ALWAYS_OPEN } };

/** The first request draws the traffic of five weeks. */
const SLOW = { service: { timeout: '60s' } };

/** Every record is there when the query starts. */
const NEVER_LATE = { lateness: { usualMs: 0, offlineShare: 0, offlineMaxMs: 0 } };

/** Writes the memory of the process at its end, with the peak in KiB, to a file. */
const PRELOAD = `
  import { readFileSync, writeFileSync } from 'node:fs';
  process.on('exit', () => writeFileSync('memory', readFileSync('/proc/self/status')));
`;

test(
  'reads 200,000 raw records, each once, with less than 256 MiB of memory',
  { timeout: 120_000 },
  async () => {
    await using world = await startWorld({ riverside: BUSY }, NEVER_LATE);
    const to = new Date(Date.now() - 60_000).toISOString();
    const flags = ['--limit=5000', '--format=csv', '--from=2020-01-01', `--to=${to}`];
    const preload = workspace.write('preload.mjs', PRELOAD);
    const child = launch(workspace, ['query', 'login', world.config(SLOW), ...flags], {
      NODE_OPTIONS: `--import=${preload}`,
    });
    expect([await child.exited, child.stderr]).toEqual([0, '']);
    const [fromMs, toMs] = ['2020-01-01', to].map((time) => Date.parse(time)) as [number, number];
    const logins =
      world.service.truth('riverside', fromMs).logins -
      world.service.truth('riverside', toMs).logins;
    expect(logins).toBeGreaterThan(200_000);
    const ids = child.stdout.match(/^l-[^,]*/gm) ?? [];
    expect([ids.length, new Set(ids).size]).toEqual([logins, logins]);
    const memory = readFileSync(`${workspace.folder}/memory`, 'utf8');
    expect(Number(/VmHWM:\s*(\d+) kB/.exec(memory)?.[1])).toBeLessThan(256 * 1024);
  },
);

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
