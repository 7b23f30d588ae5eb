/** Which changes of a configuration lead to a reload, under a virtual clock. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ConfigError } from '../../src/base/errors.ts';
import { reloadOnChange } from '../../src/cli/run.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const INTERVAL_MS = 30_000;
const SETTLE_MS = 1_000;

let clock: VirtualClock;
let stop: AbortController;
let watching: Promise<void>;
/** Digest of the files, or what loading them throws. */
let files: string | Error;
let reloaded: (string | Error)[];

beforeEach(() => {
  clock = new VirtualClock(0);
  stop = new AbortController();
  files = 'one';
  reloaded = [];
  const options = {
    load: () =>
      files instanceof Error ? Promise.reject(files) : Promise.resolve({ digest: files }),
    reload() {
      reloaded.push(files);
      return Promise.resolve();
    },
    loadedDigest: 'one',
    intervalMs: INTERVAL_MS,
  };
  watching = reloadOnChange(options, clock, stop.signal);
});
afterEach(async () => {
  stop.abort();
  await watching.catch(() => {});
});

/** Changes the files, and lets the watch load them once more after each of the times. */
async function change(content: string | Error, ...waitsMs: readonly number[]): Promise<void> {
  files = content;
  for (const ms of waitsMs) {
    await clock.advance(ms);
    await vi.waitUntil(() => clock.sleepers === 1, { interval: 5 });
  }
}

test('a bad configuration is reloaded once for each of its problems, and again when it is good', async () => {
  const [bad, same, worse] = ['bad', 'bad', 'worse'].map((text) => new ConfigError(text));
  await change(bad ?? '', INTERVAL_MS, SETTLE_MS);
  await change(same ?? '', INTERVAL_MS, INTERVAL_MS);
  await change(worse ?? '', INTERVAL_MS, SETTLE_MS);
  await change('one', INTERVAL_MS, SETTLE_MS);
  expect(reloaded).toEqual([bad, worse, 'one']);
});

test('a configuration is reloaded once, a second after it is complete', async () => {
  await change('one', INTERVAL_MS, INTERVAL_MS);
  await change('t', INTERVAL_MS);
  await change('tw', SETTLE_MS);
  await change('one', SETTLE_MS);
  expect(reloaded).toEqual([]);
  await change('tw', INTERVAL_MS);
  await change('two', SETTLE_MS);
  expect(reloaded).toEqual([]);
  await change('two', SETTLE_MS, INTERVAL_MS, INTERVAL_MS);
  expect(reloaded).toEqual(['two']);
});

test('an error that is not about the configuration ends the watch', async () => {
  files = new Error('out of memory');
  const ended = watching.catch((error: unknown) => error);
  await clock.advance(INTERVAL_MS);
  expect(await ended).toEqual(files);
});
