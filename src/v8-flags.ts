import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Bytes of the young generation from which on it stays as it is. */
const YOUNG_BYTES = 8 * 2 ** 20;

/**
 * Limits how V8's heap grows. Call it before anything else is loaded. The young generation keeps the
 * size that it starts with, and the old one grows by at most two fifths before it is collected. After
 * 20 simulated minutes, 2,000 and 10,000 customers take 247 and 431 MiB, 435 and 760 without any flag,
 * 290 and 545 with the first alone.
 */
export function limitHeap(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=40');
}

/**
 * Lets the young generation grow to {@link YOUNG_BYTES}, or to twice that. Call it once everything is
 * loaded: loading alone would make it four times as large. At its first size, polls take a third more
 * processor time, because much of what they need for a moment gets old.
 */
export function growYoungGeneration(): void {
  setFlagsFromString('--semi-space-growth-factor=2');
  const observer = new PerformanceObserver(() => {
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
    if (young === undefined || young.space_size >= YOUNG_BYTES) {
      setFlagsFromString('--semi-space-growth-factor=1');
      observer.disconnect();
    }
  });
  observer.observe({ entryTypes: ['gc'] });
}
