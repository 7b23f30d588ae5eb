/** How good the occupancy estimate is: many libraries in every regime, and the standard errors. */
import type { Progress } from '../measured.ts';
import { runInThreads } from '../threads.ts';
import type { ErrorSums } from './evaluate.ts';
import { REGIMES } from './regimes.ts';
import { LIBRARIES } from './visitors.ts';
import type { LibraryName } from './visitors.ts';
import type { Evaluated, Task } from './worker.ts';

/** The first of those that the specification's table is from. */
const FIRST_SEED = 50_000;
/** More where few people make the results of one library random. */
const SAMPLES: Readonly<Record<LibraryName, number>> = {
  univ: 16,
  town: 40,
  branch: 60,
  small: 80,
  open24: 1,
};

/** One cell of the table. */
export interface Accuracy {
  readonly library: LibraryName;
  readonly regime: string;
  /** Root of the mean squared error of the raw occupancy, in people. */
  readonly rawError: number;
  /** That of the estimate, relative to that of the raw occupancy over the same minutes. */
  readonly relativeError: number;
  /** Standard error of `relativeError`: how much it depends on the libraries drawn. */
  readonly standardError: number;
  /** `relativeError` of the library as a branch. */
  readonly branchError: number;
  /** Share of the minutes in which the actual number is in the interval. */
  readonly coverage: number;
  /** Share of the minutes without an estimate. */
  readonly withheld: number;
}

export async function measureOccupancy(progress: Progress): Promise<readonly Accuracy[]> {
  const names = Object.keys(LIBRARIES) as LibraryName[];
  const tasks = names.flatMap((library) =>
    Array.from({ length: SAMPLES[library] }, (_, i): Task => ({ library, seed: FIRST_SEED + i })),
  );
  const file = new URL('worker.ts', import.meta.url);
  const evaluated = await runInThreads<Task, Evaluated>(file, tasks, ({ library, seed }, left) => {
    progress(`occupancy: ${library} ${seed}, ${left} left`);
  });
  return names.flatMap((library) =>
    Object.keys(REGIMES).flatMap((regime) => {
      const all = evaluated
        .filter((one) => one.library === library)
        .flatMap(({ errors }) => errors.filter((one) => one.regime === regime));
      return all.length === 0 ? [] : [{ library, regime, ...accuracyOf(all) }];
    }),
  );
}

function accuracyOf(all: readonly ErrorSums[]): Omit<Accuracy, 'library' | 'regime'> {
  const [minutes, shown] = [sum(all, 'minutes'), sum(all, 'shown')];
  return {
    rawError: Math.sqrt(sum(all, 'raw') / minutes),
    relativeError: relativeError(all),
    standardError: jackknife(all),
    branchError: Math.sqrt(sum(all, 'branch') / sum(all, 'rawWhereBranch')),
    coverage: sum(all, 'covered') / shown,
    withheld: 1 - shown / minutes,
  };
}

function relativeError(all: readonly ErrorSums[]): number {
  return Math.sqrt(sum(all, 'estimated') / sum(all, 'rawWhereShown'));
}

/** Computes the standard error from the results without one library each. */
function jackknife(all: readonly ErrorSums[]): number {
  const errors = all.map((one) => relativeError(all.filter((other) => other !== one)));
  const mean = errors.reduce((total, error) => total + error, 0) / all.length;
  const squares = errors.reduce((total, error) => total + (error - mean) ** 2, 0);
  return Math.sqrt((squares * (all.length - 1)) / all.length);
}

function sum(all: readonly ErrorSums[], key: Exclude<keyof ErrorSums, 'regime'>): number {
  return all.reduce((total, errors) => total + errors[key], 0);
}
