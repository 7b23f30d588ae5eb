/** A thread of the occupancy bench: judges the libraries that it is told. */
import { parentPort } from 'node:worker_threads';
import { judgeLibrary } from './judge.ts';
import type { LibraryName } from './visitors.ts';

export interface Task {
  readonly library: LibraryName;
  readonly seed: number;
}

parentPort?.on('message', ({ library, seed }: Task) => {
  parentPort?.postMessage(judgeLibrary(library, seed));
});
