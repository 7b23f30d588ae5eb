/**
 * `npm run planted`: plays worlds with each planted bug until one is found out, and writes the table
 * in the docs. Ends with status 1, and writes nothing, if a bug was not found.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { format } from 'prettier';
import { drawWorld } from './drawn-world.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import type { PlantedBug } from './planted-bugs.ts';

const { values } = parseArgs({
  options: {
    /** So many worlds are played with a bug at most, from seed 1 on. */
    seeds: { type: 'string', default: '200' },
    /** Bugs at once. */
    jobs: { type: 'string', default: '2' },
    /** Only those whose names have this in them; then nothing is written. */
    only: { type: 'string', default: '' },
  },
});

const run = promisify(execFile);

interface Found {
  readonly bug: PlantedBug;
  readonly worlds: number;
  readonly seed: number;
  /** The first violation, in words. */
  readonly as: string;
}

async function find(bug: PlantedBug): Promise<Found | undefined> {
  const folder = import.meta.dirname;
  const args = ['--import', join(folder, 'plant.ts'), join(folder, 'simulate.ts'), '--first-only'];
  const { stdout } = await run(process.execPath, [...args, `--list=${seedsFor(bug).join()}`], {
    env: { ...process.env, PLANTED_BUG: bug.name },
    maxBuffer: 64 * 2 ** 20,
  }).catch((error: { stdout: string; stderr: string; code: number }) => {
    if (error.code !== 1 || error.stdout === '') {
      throw new Error(`${bug.name}: ${error.stderr}`);
    }
    return error;
  });
  const worlds = Number(/^(\d+) seeds/m.exec(stdout)?.[1]);
  const [, seed, as] = /^seed (\d+) \n {2}\S+ (.*)$/m.exec(stdout) ?? [];
  return as === undefined ? undefined : { bug, worlds, seed: Number(seed), as };
}

/** The first seeds in whose worlds the bug can show. */
function seedsFor({ shows = () => true }: PlantedBug): readonly number[] {
  const seeds: number[] = [];
  for (let seed = 1; seeds.length < Number(values.seeds); seed++) {
    if (shows(drawWorld(seed))) {
      seeds.push(seed);
    }
  }
  return seeds;
}

const queue = PLANTED_BUGS.filter(({ name }) => name.includes(values.only));
const found = new Map<PlantedBug, Found>();
const missed: string[] = [];
async function work(): Promise<void> {
  for (let bug = queue.shift(); bug !== undefined; bug = queue.shift()) {
    const result = await find(bug);
    if (result === undefined) {
      missed.push(bug.name);
    } else {
      found.set(bug, result);
    }
    process.stderr.write(`${bug.name}: ${result?.worlds ?? `not in ${values.seeds}`}\n`);
  }
}
await Promise.all(Array.from({ length: Number(values.jobs) }, work));

const rows = PLANTED_BUGS.flatMap((bug) => found.get(bug) ?? []).map(
  ({ bug, worlds, seed, as }) => `| ${bug.name} | ${worlds} | ${seed} | ${as} |`,
);
const page = `# Planted bugs

Each of these was put into the source as it was loaded, and the simulation played worlds from seed 1 on
until it found something wrong. Worlds in which a bug cannot show, as the loss of marks where nothing is
ever taken back, were left out of the count; the seed is that of the world that showed it. Written by \`npm run planted\`; what each one changes is in
\`test/simulation/planted-bugs.ts\`.

| bug | worlds played | seed | found as |
| --- | ---: | ---: | --- |
${rows.join('\n')}
`;
process.stdout.write(page);
if (missed.length > 0) {
  process.stderr.write(`not found: ${missed.join(', ')}\n`);
  process.exitCode = 1;
} else if (values.only === '') {
  const path = join(import.meta.dirname, '..', '..', 'docs', 'planted-bugs.md');
  writeFileSync(path, await format(page, { filepath: path, printWidth: 100 }));
}
