/** Writes marks to the folder in its argument without a pause, until it is killed. */
import { setImmediate } from 'node:timers/promises';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { HighWaterMarks } from '../../../src/counting/high-water-marks.ts';
import { Storage } from '../../../src/polling/storage.ts';

const month = 24_322;
const epoch = { startMs: Date.UTC(2026, 10, 1, 3), endMs: Date.UTC(2026, 11, 1, 3), month };
const owner = { service: 's', clientId: 'i', customer: 'riverside' };
const nowMs = Date.UTC(2026, 10, 18, 10);

const marks = new HighWaterMarks();
const storage = new Storage({
  path: process.argv[2] ?? '',
  marks,
  log: silentLogger,
  clock: {
    ...systemClock,
    nowMs: () => nowMs,
    // As often as it can in place of every ten seconds.
    async sleep() {
      const value = (marks.get(owner, 'logins')?.value ?? 0) + 1;
      marks.update(owner, 'logins', epoch, value, nowMs);
      for (let i = 0; i < 2000; i++) {
        marks.update({ ...owner, customer: `c${i}` }, 'logins', epoch, value, nowMs);
      }
      await setImmediate();
      process.send?.(marks.get(owner, 'logins')?.value);
    },
  },
});
await storage.start();
