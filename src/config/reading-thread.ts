/** A thread that reads the configuration, sends what it read, and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { readFiles } from './load.ts';
import type { ReadOptions } from './load.ts';

parentPort?.postMessage(await readFiles(workerData as ReadOptions));
