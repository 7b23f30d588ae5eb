import { setFlagsFromString } from 'node:v8';

/** A container with less memory has few customers. */
const SMALL_CONTAINER_BYTES = 2 ** 30;

/**
 * Limits how V8's heap grows before it is collected: to twice of what is in use, in a small container by two
 * fifths (docs/bench.md has both measured). Call it before anything else is loaded. The young generation has a
 * limit, too, which is a flag of Node.js where the exporter is started: V8 reads it earlier.
 */
export function limitHeap(): void {
  // 0 without a limit.
  const limitBytes = process.constrainedMemory();
  const isSmall = limitBytes > 0 && limitBytes < SMALL_CONTAINER_BYTES;
  setFlagsFromString(`--heap-growing-percent=${isSmall ? 40 : 100}`);
}
