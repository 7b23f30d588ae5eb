/** A thread of `npm run simulate`: receives seeds, one at a time, and sends back the results. */
import { parentPort, workerData } from 'node:worker_threads';
import { drawEnvironment, drawLongEnvironment } from './environment.ts';
import { runEnvironment } from './run.ts';

const draw = workerData === 'long' ? drawLongEnvironment : drawEnvironment;

parentPort?.on('message', (seed: number) => {
  void runEnvironment(draw(seed)).then((result) => parentPort?.postMessage(result));
});
