/** A thread of the occupancy bench: evaluates the estimate in libraries that it is sent. */
import { parentPort } from 'node:worker_threads';
import { evaluateLibrary } from './evaluate.ts';
import type { ErrorSums } from './evaluate.ts';
import type { LibraryName } from './visitors.ts';

export interface Task {
  readonly library: LibraryName;
  readonly seed: number;
}

export interface Evaluated {
  readonly library: LibraryName;
  readonly errors: readonly ErrorSums[];
}

parentPort?.on('message', ({ library, seed }: Task) => {
  const evaluated: Evaluated = { library, errors: evaluateLibrary(library, seed) };
  parentPort?.postMessage(evaluated);
});
