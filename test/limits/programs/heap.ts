/** Fills a heap, drops most of it, settles it if told so, and goes on; prints the heap's sizes in MiB. */
import { settleHeap } from '../../../src/base/heap.ts';

const LIVE = 40_000;

function heapMiB(): number {
  return process.memoryUsage().heapTotal / 2 ** 20;
}

function thing(number: number): object {
  return { list: [number, number + 1, number + 2], text: String(number) };
}

const live: object[] = [];
let dropped: object[] = [];
for (let i = 0; i < 10 * LIVE; i += 1) {
  (i % 10 === 0 ? live : dropped).push(thing(i));
}
dropped = [];
const before = heapMiB();
if (process.argv[2] === 'settled') {
  settleHeap();
}
const settled = heapMiB();
let most = 0;
for (let i = 0; i < 100 * LIVE; i += 1) {
  live[i % LIVE] = thing(i);
  most = i % 10_000 === 0 ? Math.max(most, heapMiB()) : most;
}
process.stdout.write(JSON.stringify({ dropped: dropped.length, before, settled, most }));
