/**
 * Loaded into a measured process with --import: reports how long its event loop was kept from a timer
 * of 5 ms at the longest, that time included, since the report before. At `hurry`, pasts are read one
 * after the other, not over an hour.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { READINGS } from '../../src/polling/reading.ts';

/** Leaves time for polls. */
const HURRIED_GAP_MS = 15;

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
process.on('message', (message) => {
  if (message === 'hurry') {
    Object.assign(READINGS.past, { gapMs: HURRIED_GAP_MS });
  }
  if (message === 'report' || message === 'hurry') {
    process.send?.(delay.max / 1e6);
    delay.reset();
  }
});
// It must not keep the process alive.
process.channel?.unref();
