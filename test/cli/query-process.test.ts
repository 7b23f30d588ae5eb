/** `query` as a process: memory, and a closed pipe. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { Workspace } from '../acceptance/daemon.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { ALWAYS_OPEN } from '../../src/simulator/libraries.ts';
import { startWorld } from './simulated-world.ts';

const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const workspace = new Workspace();
afterAll(async () => {
  await workspace.close();
});

/** More than two hundred thousand logins in five weeks. */
const BUSY: Partial<Library> = { visitsPerDay: 8_500, loginShare: 1, opening: ALWAYS_OPEN };

/** The first request draws the traffic of five weeks. */
const SLOW = { service: { timeout: '60s' } };

/** Every record is there when the query starts. */
const NEVER_LATE = { usualMs: 0, offlineShare: 0, offlineMaxMs: 0 };

/** Writes the peak memory of the process, in KiB, to a file. */
const PRELOAD = `
  import { readFileSync, writeFileSync } from 'node:fs';
  function peakKiB() {
    try {
      return /VmHWM:\\s*(\\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1];
    } catch {
      return String(process.resourceUsage().maxRSS);
    }
  }
  process.on('exit', () => writeFileSync(process.env.PEAK_FILE, peakKiB()));
`;

const peakFile = `${workspace.folder}/peak`;
const preload = workspace.write('preload.mjs', PRELOAD);

function start(...args: readonly string[]) {
  const child = spawn(
    process.execPath,
    ['--import', preload, mainFile, 'query', 'login', '--customer=riverside', ...args],
    { env: { PATH: process.env['PATH'], PEAK_FILE: peakFile }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const watchdog = setTimeout(() => child.kill('SIGKILL'), 100_000);
  const exited = once(child, 'exit').then(([status, signal]: unknown[]) => {
    clearTimeout(watchdog);
    return { exit: status ?? signal, err };
  });
  return { child, exited };
}

test(
  'reads 200,000 raw records, each once, with less than 256 MiB of memory',
  { timeout: 120_000 },
  async () => {
    await using world = await startWorld(
      { riverside: { library: BUSY } },
      { lateness: NEVER_LATE },
    );
    const to = new Date(Date.now() - 60_000).toISOString();
    const flags = ['--limit=5000', '--format=csv', '--from=2020-01-01', `--to=${to}`];
    const { child, exited } = start(world.config(SLOW), ...flags);
    const ids = new Set<string>();
    let lines = 0;
    for await (const line of createInterface({ input: child.stdout })) {
      ids.add(line.slice(0, line.indexOf(',')));
      lines += 1;
    }
    expect(await exited).toEqual({ exit: 0, err: '' });
    const fromMs = Date.parse('2020-01-01');
    const { logins } = world.service.truth('riverside', fromMs);
    const { logins: later } = world.service.truth('riverside', Date.parse(to));
    expect(logins - later).toBeGreaterThan(200_000);
    expect({ lines, ids: ids.size }).toEqual({
      lines: 1 + logins - later,
      ids: 1 + logins - later,
    });
    expect(Number(readFileSync(peakFile, 'utf8'))).toBeLessThan(256 * 1024);
  },
);

test('ends early and without a message if its reader closes the pipe', async () => {
  await using world = await startWorld({ riverside: { library: BUSY } });
  const { child, exited } = start(world.config(SLOW), '--format=csv', '--limit=100');
  await once(child.stdout, 'data');
  child.stdout.destroy();
  expect(await exited).toEqual({ exit: 0, err: '' });
});
