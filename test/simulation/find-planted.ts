/** Plays worlds with each planted bug until one is found out, and prints the table for the docs. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { PLANTED_BUGS } from './planted-bugs.ts';
import type { PlantedBug } from './planted-bugs.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    jobs: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
  },
});

const run = promisify(execFile);

async function seedsNeeded(bug: PlantedBug): Promise<{ seeds: number; found: string } | undefined> {
  const folder = import.meta.dirname;
  const args = ['--import', join(folder, 'plant.ts'), join(folder, 'simulate.ts'), '--first-only'];
  const { stdout } = await run(process.execPath, [...args, `--seeds=${values.seeds}`], {
    env: { ...process.env, PLANTED_BUG: bug.name },
    maxBuffer: 64 * 2 ** 20,
  }).catch((error: { stdout: string; stderr: string; code: number }) => {
    if (error.code !== 1 || error.stdout === '') {
      throw new Error(`${bug.name}: ${error.stderr}`);
    }
    return error;
  });
  const seeds = Number(/^(\d+) seeds/m.exec(stdout)?.[1]);
  const found = /^seed \d+ \n {2}\S+ (.*)$/m.exec(stdout)?.[1];
  return found === undefined ? undefined : { seeds, found };
}

const queue = PLANTED_BUGS.filter(({ name }) => name.includes(values.only));
let missed = 0;
await Promise.all(
  Array.from({ length: Number(values.jobs) }, async () => {
    for (let bug = queue.shift(); bug !== undefined; bug = queue.shift()) {
      const result = await seedsNeeded(bug);
      missed += result === undefined ? 1 : 0;
      const row = result ?? { seeds: `none in ${values.seeds}`, found: '' };
      process.stdout.write(`| ${bug.name} | ${row.seeds} | ${row.found} |\n`);
    }
  }),
);
process.exitCode = missed > 0 ? 1 : 0;
