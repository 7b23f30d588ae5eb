/** The line of progress: on a terminal only, out of the way of everything else. */
import { expect, test } from 'vitest';
import { createProgress } from '../../../src/cli/query/progress.ts';

function progressOn(isTerminal: boolean) {
  const times = [0, 2_000, 4_000];
  const written: string[] = [];
  const clock = { monotonicMs: () => times.shift() ?? 4_000 };
  const progress = createProgress({ clock, isTerminal, write: (text) => written.push(text) });
  return { written, progress };
}

test('says pages, records, bytes and rate on one line of a terminal', () => {
  const { written, progress } = progressOn(true);
  progress.add(1_000, 400_000);
  progress.add(500, 150_000);
  progress.end();
  expect(written).toEqual([
    '\r\u001b[K1 page, 1000 records, 0.4 MB, 500 records/s',
    '\r\u001b[K2 pages, 1500 records, 0.6 MB, 375 records/s',
    '\n',
  ]);
});

test('makes room once for what else there is to say', () => {
  const { written, progress } = progressOn(true);
  progress.clear();
  progress.add(1, 1);
  progress.clear();
  progress.clear();
  progress.end();
  expect(written.slice(1)).toEqual(['\r\u001b[K']);
});

test('says nothing where nobody watches', () => {
  const { written, progress } = progressOn(false);
  progress.add(1_000, 400_000);
  progress.clear();
  progress.end();
  expect(written).toEqual([]);
});
