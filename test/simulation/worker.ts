/** A thread of `npm run simulate`: receives seeds, one at a time, and sends back the results. */
import { parentPort } from 'node:worker_threads';
import { runSeed } from './run.ts';

parentPort?.on('message', (seed: number) => {
  void runSeed(seed).then((result) => parentPort?.postMessage(result));
});
