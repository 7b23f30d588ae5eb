/** How good the occupancy estimate is: some libraries of each size in every regime, as a table for docs/occupancy.md. */
import { alignTable, progress } from '../table.ts';
import { runInThreads } from '../threads.ts';
import type { ErrorSums, Task } from './evaluate.ts';
import { LIBRARIES, REGIMES } from './regimes.ts';
import type { LibraryName } from './regimes.ts';

const FIRST_SEED = 50_000;
/** More where few people make the results of one library random. */
const SAMPLES: Readonly<Record<LibraryName, number>> = { univ: 6, town: 12, branch: 16, small: 24 };

/** Returns the table. */
export async function measureOccupancy(): Promise<string> {
  // The slowest first.
  const names = Object.keys(SAMPLES) as LibraryName[];
  const tasks = names.flatMap((library) =>
    Array.from({ length: SAMPLES[library] }, (_, i): Task => ({ library, seed: FIRST_SEED + i })),
  );
  const file = new URL('evaluate.ts', import.meta.url);
  const evaluated = await runInThreads<Task, readonly ErrorSums[]>(file, tasks, (task, left) => {
    progress(`occupancy: ${task.library} ${task.seed}, ${left} left`);
  });
  const libraries = Object.keys(LIBRARIES);
  const all = evaluated.flat();
  return alignTable([
    ['regime', ...libraries],
    ...Object.keys(REGIMES).map((regime) => [
      regime,
      ...libraries.map((name) =>
        cellText(all.filter((one) => one.library === name && one.regime === regime)),
      ),
    ]),
  ]);
}

/** Relative error ± standard error, coverage, and the share of minutes withheld unless it is 0. */
function cellText(all: readonly ErrorSums[]): string {
  const [minutes, shown] = [sum(all, 'minutes'), sum(all, 'shown')];
  const withheld = 1 - shown / minutes;
  return [
    sum(all, 'raw') === 0
      ? 'exact'
      : `${relativeError(all).toFixed(2)} ± ${jackknife(all).toFixed(2)}`,
    `${Math.round((100 * sum(all, 'covered')) / shown)} %`,
    ...(withheld >= 0.0005 ? [`${(withheld * 100).toFixed(1)} %`] : []),
  ].join(', ');
}

/** Returns the root of the mean squared error, divided by that of the raw occupancy over the same minutes. */
function relativeError(all: readonly ErrorSums[]): number {
  return Math.sqrt(sum(all, 'estimated') / sum(all, 'raw'));
}

/** Returns the standard error of the relative error, from the results without one library each. */
function jackknife(all: readonly ErrorSums[]): number {
  const errors = all.map((one) => relativeError(all.filter((other) => other !== one)));
  const mean = errors.reduce((total, error) => total + error, 0) / all.length;
  const squares = errors.reduce((total, error) => total + (error - mean) ** 2, 0);
  return Math.sqrt((squares * (all.length - 1)) / all.length);
}

function sum(
  all: readonly ErrorSums[],
  key: Exclude<keyof ErrorSums, 'regime' | 'library'>,
): number {
  return all.reduce((total, errors) => total + errors[key], 0);
}
