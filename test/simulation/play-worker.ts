/** A thread that plays the worlds whose seeds it is sent, one at a time, and sends back what came of it. */
import { parentPort } from 'node:worker_threads';
import { play } from './play.ts';

parentPort?.on('message', (seed: number) => {
  void play(seed).then((played) => parentPort?.postMessage(played));
});
