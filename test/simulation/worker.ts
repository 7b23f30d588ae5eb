/** A thread of `npm run simulate`: receives seeds, one at a time, and sends back the results. */
import { parentPort, workerData } from 'node:worker_threads';
import { runLongSeed, runSeed } from './run.ts';

const run = workerData === 'long' ? runLongSeed : runSeed;

parentPort?.on('message', (seed: number) => {
  void run(seed).then((result) => parentPort?.postMessage(result));
});
