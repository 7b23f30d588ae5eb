import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isMet, tableOf, writeResult } from '../../bench/table.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bench-table-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const ROWS = [
  { bar: 'start', ours: '300 ms', peer: '–', value: 300, limit: 400 },
  { bar: 'memory', ours: '500 MiB', peer: '400 MiB', value: 1.25, limit: 1.2 },
];

test('the table has a line for each bar, and says which one is missed', () => {
  expect(tableOf(ROWS)).toBe(
    [
      '| bar    | ours    | peer    | ratio | limit | met    |',
      '| ------ | ------- | ------- | ----- | ----- | ------ |',
      '| start  | 300 ms  | –       | 300   | 400   | yes    |',
      '| memory | 500 MiB | 400 MiB | 1.25  | 1.20  | **no** |',
    ].join('\n'),
  );
});

test('a figure that is none does not meet its bar', () => {
  expect(isMet({ bar: '', ours: '', peer: '', value: NaN, limit: 1 })).toBe(false);
});

test('a result replaces the one before, and nothing around it', () => {
  const file = join(folder, 'bench.md');
  writeFileSync(file, 'Before.\n\n<!-- bench: begin -->\n\nold\n\n<!-- bench: end -->\n\nAfter.\n');
  writeResult(file, 'new');
  const written = 'Before.\n\n<!-- bench: begin -->\n\nnew\n\n<!-- bench: end -->\n\nAfter.\n';
  expect(readFileSync(file, 'utf8')).toBe(written);
  writeResult(file, 'new');
  expect(readFileSync(file, 'utf8')).toBe(written);
});

test('a file without a place for it is left alone', () => {
  const file = join(folder, 'other.md');
  writeFileSync(file, 'Nothing here.\n');
  expect(() => writeResult(file, 'new')).toThrow('has no place for the result');
  expect(readFileSync(file, 'utf8')).toBe('Nothing here.\n');
});
