/**
 * Loaded into a measured process with --import: reports how long its event loop was kept from a timer
 * of 5 ms at the longest, that time included, since the report before. At `hurry`, pasts are read one
 * after the other, not over an hour.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { READINGS } from '../../src/polling/reading.ts';

export interface LoopDelay {
  readonly longestMs: number;
}

const RESOLUTION_MS = 5;

/** Leaves time for polls. */
const HURRIED_GAP_MS = 15;

const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();
process.on('message', (message) => {
  if (message === 'hurry') {
    Object.assign(READINGS.past, { gapMs: HURRIED_GAP_MS });
  }
  if (message !== 'report' && message !== 'hurry') {
    return;
  }
  const report: LoopDelay = { longestMs: delay.max / 1e6 };
  delay.reset();
  process.send?.(report);
});
// It must not keep the process alive.
process.channel?.unref();
