/** Holds the storage of the folder in its argument until it is killed. */
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { HighWaterMarks } from '../../../src/counting/high-water-marks.ts';
import { Storage } from '../../../src/polling/storage.ts';

const storage = new Storage({
  path: process.argv[2] ?? '',
  marks: new HighWaterMarks(),
  clock: systemClock,
  log: silentLogger,
});
await storage.start();
process.send?.('holding');
