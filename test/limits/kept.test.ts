/** That polls and requests which are over leave nothing for the collection of the whole heap. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const PROGRAM = fileURLToPath(new URL('programs/kept.ts', import.meta.url));

function keptBytesOf(thing: string): number {
  const flags = ['--expose-gc', '--initial-heap-size=600', PROGRAM, thing];
  return Number(execFileSync(process.execPath, flags, { encoding: 'utf8' }));
}

test('a request that is over is let go by the next small collections', { timeout: 60_000 }, () => {
  // 13,000 without letGo, and 8,000 with a Set of what is under way.
  expect(keptBytesOf('requests')).toBeLessThan(4_000);
});

test('a poll that is over is let go with its answers', { timeout: 60_000 }, () => {
  // 2,800 where generator functions are made anew for each poll.
  expect(keptBytesOf('polls')).toBeLessThan(1_000);
});
