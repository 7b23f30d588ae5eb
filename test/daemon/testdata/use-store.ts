/**
 * A process with a store. Arguments: the folder, and what to do: `update` it once, or `die` so many
 * turns of the event loop after the second write began. The environment variable STORE_USER may be `nobody`.
 */
import { setImmediate } from 'node:timers/promises';
import { systemClock } from '../../../src/base/clock.ts';
import { counterOwner, HighWaterMarks } from '../../../src/counting/high-water-marks.ts';
import { Store } from '../../../src/storage/store.ts';
import { captureLog } from '../../support/captured-log.ts';
import { NOVEMBER, NOW_MS } from '../../support/owner.ts';

const CUSTOMERS = 2_000;
const NOBODY = 65_534;

const [path = '', mode = '', turns = ''] = process.argv.slice(2);
if (process.env['STORE_USER'] === 'nobody' && process.getuid?.() === 0) {
  process.setuid?.(NOBODY);
}
// Without a listener, a write beyond `ulimit -f` ends the process. With one, it fails.
process.on('SIGXFSZ', () => {});

const marks = new HighWaterMarks();
function valueNow(): number {
  return marks.get(counterOwner('s', 'c', 'c0'), 'logins')?.value ?? 0;
}

function addToAll(): void {
  const value = valueNow() + 1;
  for (let i = 0; i < CUSTOMERS; i++) {
    marks.update(counterOwner('s', 'c', `c${i}`), 'logins', NOVEMBER, value, NOW_MS);
  }
}

/** Kills this process. */
async function dieAfter(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) {
    await setImmediate();
  }
  process.kill(process.pid, 'SIGKILL');
}

let writes = 0;
const { log, lines } = captureLog({ nowMs: () => NOW_MS });
const store = new Store({
  path,
  marks,
  log,
  observe() {},
  clock: {
    ...systemClock,
    nowMs: () => NOW_MS,
    monotonicMs: () => writes * 10_000,
    async sleep(ms, signal) {
      if (mode !== 'die') {
        return systemClock.sleep(ms, signal);
      }
      writes += 1;
      addToAll();
      if (writes === 2) {
        void dieAfter(Number(turns));
      }
      await setImmediate();
    },
  },
});
await store.start();
if (mode === 'update') {
  const restored = valueNow();
  addToAll();
  const saved = await store.stop();
  process.send?.({ lines, restored, saved });
  process.disconnect?.();
}
