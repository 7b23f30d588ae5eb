/** Rows as a table, CSV and JSON lines. */
import { describe, expect, test } from 'vitest';
import { createFormatter } from '../../src/cli/output.ts';
import type { Format } from '../../src/cli/output.ts';

const COLUMNS = ['id', 'name', 'deviceId'];

function formatter(format: Format, forTerminal = false) {
  return createFormatter(format, COLUMNS, forTerminal);
}

describe('a table', () => {
  test('has one head, texts left, numbers right, no trailing spaces', () => {
    const toText = formatter('table');
    const first = toText([
      ['p-1', 'Main entrance', 7],
      ['p-10', null, 10_101],
    ]);
    expect(first).toBe(
      'id    name           deviceId\np-1   Main entrance         7\np-10                    10101\n',
    );
    expect(toText([['p-1000', 'Door', null]])).toBe('p-1000  Door\n');
  });

  test('is only a head if there are no rows', () => {
    expect(formatter('table')([])).toBe('id  name  deviceId\n');
  });

  test('escapes control characters', () => {
    const name = 'a\u001b[2Jb\nc\u009bd\u202ee\u2028f\u007f';
    expect(formatter('table')([['1', name, 1]])).toContain(
      String.raw`a\u001b[2Jb\u000ac\u009bd\u202ee\u2028f\u007f`,
    );
  });
});

describe('CSV', () => {
  test('follows RFC 4180: CRLF, quotes only where needed', () => {
    const toText = formatter('csv');
    expect(toText([['1', 'a,b', 7]])).toBe('id,name,deviceId\r\n1,"a,b",7\r\n');
    expect(toText([['2', 'say "x"\r\ny', null]])).toBe('2,"say ""x""\r\ny",\r\n');
    expect(toText([['3', ' Nørre Allé ', -1]])).toBe('3, Nørre Allé ,-1\r\n');
  });

  test('has exact values, except on a terminal', () => {
    const row = ['=1+1', '\u001b[2J', 1];
    expect(formatter('csv')([row])).toContain('=1+1,\u001b[2J,1');
    expect(formatter('csv', true)([row])).toContain(String.raw`=1+1,\u001b[2J,1`);
  });
});

describe('JSON lines', () => {
  test('are one object per line, with exact values and escaped control characters', () => {
    const name = '\u001b\u009b\u2028\u202e\\u001b"\n';
    const text = formatter('ndjson')([
      ['1', name, null],
      ['2', '', 7],
    ]);
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Zl}\p{Bidi_Control}]/u);
    expect(
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([
      { id: '1', name, deviceId: null },
      { id: '2', name: '', deviceId: 7 },
    ]);
  });

  test('are none if there are no rows', () => {
    expect(formatter('ndjson')([])).toBe('');
  });
});
