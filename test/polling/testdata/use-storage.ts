/**
 * Restores the marks of the folder in its argument, shows higher ones, writes them and tells what it
 * logged and what it had restored. As a user without rights where it was started as root, and with
 * files that may not become longer than its limit.
 */
import { systemClock } from '../../../src/base/clock.ts';
import { createLogger } from '../../../src/base/log.ts';
import { Calendar } from '../../../src/counting/calendar.ts';
import { HighWaterMarks } from '../../../src/counting/high-water-marks.ts';
import { Zone } from '../../../src/counting/zone.ts';
import { Storage } from '../../../src/polling/storage.ts';

const NOBODY = 65_534;
const COUNTERS = 100;

const [path = '', nowMs = '', user = 'same'] = process.argv.slice(2);
if (user === 'nobody' && process.getuid?.() === 0) {
  process.setuid?.(NOBODY);
}
// Without a listener, a write beyond the limit ends the process. With one, it fails like a full disk.
process.on('SIGXFSZ', () => {});

const lines: unknown[] = [];
const clock = { ...systemClock, nowMs: () => Number(nowMs) };
const marks = new HighWaterMarks();
const storage = new Storage({
  path,
  marks,
  clock,
  log: createLogger({
    level: 'info',
    format: 'json',
    write: (line) => lines.push(JSON.parse(line)),
    nowMs: () => clock.nowMs(),
  }),
});
const owner = { service: 'https://s.example.org', clientId: 'riverside-api' };
const epoch = new Calendar(new Zone('Europe/Copenhagen'), { hour: 4, minute: 0 }).periodAt(
  clock.nowMs(),
);

await storage.start();
const restored = marks.get({ ...owner, customer: 'riverside' }, 'logins')?.value;
for (let i = 0; i < COUNTERS; i++) {
  marks.update({ ...owner, customer: `c${i}` }, 'logins', epoch, i + 1, clock.nowMs());
}
await storage.stop();
process.send?.({ lines, restored });
process.disconnect?.();
