/**
 * Five customers in a memory cgroup of 80 MiB, as in a small container: compiled code, and no place for
 * a compile cache. Needs root and a memory cgroup of version 1 or 2; throws where it cannot make one.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afternoonZone, temporaryFolder, writeConfiguration } from '../daemon/configuration.ts';
import { BenchService, daemonFlags, scrape } from '../daemon/daemon.ts';
import { barOf } from '../measured.ts';
import type { Measured, Progress } from '../measured.ts';
import { Program, wait } from '../processes.ts';

const CUSTOMERS = 5;
const LIMIT_MIB = 80;
const SECONDS = 60;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CGROUPS = '/sys/fs/cgroup';

export async function measureContainer(progress: Progress): Promise<readonly Measured[]> {
  const cgroup = makeCgroup();
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: ROOT });
  const timezone = afternoonZone(Date.now());
  const service = await BenchService.start(timezone);
  using folder = temporaryFolder();
  const settings = { customers: CUSTOMERS, serviceUrl: service.url, timezone };
  const file = writeConfiguration(folder.path, { ...settings, maxRequestsPerSecond: 10 });
  const main = [process.execPath, `${ROOT}/dist/main.js`, ...daemonFlags(file, folder.path)];
  const script = `export NODE_DISABLE_COMPILE_CACHE=1; echo 0 >${cgroup}/cgroup.procs; exec "$@"`;
  const daemon = Program.of('sh', ['-c', script, 'sh', ...main]);
  try {
    const peakMiB = await peakMemory(daemon).catch((error: unknown) => {
      progress(`container: ${String(error)}`);
      return Infinity;
    });
    const bar = `Anonymous memory of ${CUSTOMERS} customers in a container of ${LIMIT_MIB} MiB, the most in ${SECONDS} s`;
    const row = barOf(bar, peakMiB, ' MiB', LIMIT_MIB);
    return [peakMiB < Infinity ? row : { ...row, ours: 'killed' }];
  } finally {
    await Promise.all([daemon.stop(), service.stop()]);
    rmdirSync(cgroup);
  }
}

/** Returns MiB under a scrape a second. Throws when the program is killed. */
async function peakMemory(daemon: Program): Promise<number> {
  const url = await daemon.says(/"url":"([^"]+)","msg":"listening"/);
  let peakMiB = 0;
  for (let second = 0; second < SECONDS; second += 1) {
    await wait(1_000);
    await scrape(url);
    peakMiB = Math.max(peakMiB, daemon.anonymousMiB());
  }
  return peakMiB;
}

function makeCgroup(): string {
  const isFirstVersion = existsSync(`${CGROUPS}/memory`);
  const cgroup = mkdtempSync(isFirstVersion ? `${CGROUPS}/memory/bench-` : `${CGROUPS}/bench-`);
  const limit = isFirstVersion ? 'memory.limit_in_bytes' : 'memory.max';
  writeFileSync(`${cgroup}/${limit}`, String(LIMIT_MIB * 2 ** 20));
  return cgroup;
}
