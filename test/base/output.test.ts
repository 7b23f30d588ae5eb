/** Rows as a table, CSV and JSON lines. */
import { expect, test } from 'vitest';
import { createFormatter } from '../../src/base/output.ts';
import type { Format } from '../../src/base/output.ts';

function formatter(format: Format) {
  return createFormatter(format, ['id', 'name', 'deviceId']);
}

test('a table has one head, texts left, numbers right, no trailing spaces', () => {
  const toText = formatter('table');
  const rows = [
    ['p-1', 'Main entrance', 7],
    ['p-10', null, 10_101],
  ];
  expect(toText(rows)).toBe(
    'id    name           deviceId\np-1   Main entrance         7\np-10                    10101\n',
  );
  expect(toText([['p-1000', 'Door', null]])).toBe('p-1000  Door\n');
});

test.each([
  ['table', 'id  name  deviceId\n'],
  ['ndjson', ''],
] as const)('no rows as %s are %j', (format, text) => {
  expect(formatter(format)([])).toBe(text);
});

test('CSV follows RFC 4180: CRLF, quotes only where needed', () => {
  const toText = formatter('csv');
  expect(toText([['1', 'a,b', 7]])).toBe('id,name,deviceId\r\n1,"a,b",7\r\n');
  expect(toText([['2', 'say "x"\r\ny', null]])).toBe('2,"say ""x""\r\ny",\r\n');
  expect(toText([['3', ' Nørre Allé ', -1]])).toBe('3, Nørre Allé ,-1\r\n');
});

test.each(['=1+1', '+45 1', '-1+1', '@SUM(A1)', '\t=1'])('in CSV, %j is no formula', (name) => {
  const [, line = ''] = formatter('csv')([['1', name, 7]]).split('\r\n');
  expect(line).toMatch(/^1,"?'[=+@\t-]/);
});

const UNSAFE = 'a\u001b[2Jb\u009bd\u202ee\u2028f\u007f';
const ESCAPED = String.raw`a\u001b[2Jb\u009bd\u202ee\u2028f\u007f`;

test.each([
  ['table', ESCAPED],
  ['csv', UNSAFE],
  ['ndjson', ESCAPED],
] as const)('control characters as %s are %j', (format, expected) => {
  expect(formatter(format)([['1', UNSAFE, 1]])).toContain(expected);
});

test('JSON lines are one object a line, with exact values', () => {
  const lines = formatter('ndjson')([
    ['1', UNSAFE, null],
    ['2', '', 7],
  ]).split('\n');
  expect(lines.slice(0, -1).map((line) => JSON.parse(line) as unknown)).toEqual([
    { id: '1', name: UNSAFE, deviceId: null },
    { id: '2', name: '', deviceId: 7 },
  ]);
});
