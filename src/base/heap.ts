import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects what loading a configuration has left. From then on the heap grows by at most a fifth before
 * it is collected, and V8's young generation only from 1 to 16 MiB: by itself it grows to 64, and
 * touches twice that. 10,000 customers take 380 MiB, 418 if the heap grows by half, 499 also without the
 * limit. A heap that grows by more takes less processor time (docs/bench.md). Where little is allocated,
 * V8 makes the young generation small again, and it stays so: 2,000 customers take 245 MiB and 7 % of a
 * core, 341 MiB and 6 % without the limit (both with a heap that grows by half). With few customers the
 * young generation stays at 1 MiB: with 16, five customers did not fit into a container of 80 MiB.
 */
export function compactHeap(customers: number): void {
  setFlagsFromString('--heap-growing-percent=20');
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  setFlagsFromString('--semi-space-growth-factor=16');
  // The young generation grows once more objects than it can hold have survived in it: from about
  // 1,000 customers on.
  Array.from({ length: 20 * customers }, (_, i) => [i]);
  setFlagsFromString('--semi-space-growth-factor=1');
}
