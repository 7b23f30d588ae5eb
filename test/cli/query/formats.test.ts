/** Rows as a table, as CSV and as JSON lines. */
import { describe, expect, test } from 'vitest';
import { createFormatter } from '../../../src/cli/query/formats.ts';
import type { Format } from '../../../src/cli/query/formats.ts';

const COLUMNS = ['id', 'name', 'deviceId'];

function formatter(format: Format, forTerminal = false) {
  return createFormatter({ format, columns: COLUMNS, forTerminal });
}

describe('a table', () => {
  test('has a head once, texts to the left, numbers to the right, nothing at the ends of lines', () => {
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

  test('is a head alone where there are no rows', () => {
    expect(formatter('table')([])).toBe('id  name  deviceId\n');
  });

  test('never commands a terminal', () => {
    const name = 'a\u001b[2Jb\nc\u009bd\u202ee\u2028f\u007f';
    expect(formatter('table')([['1', name, 1]])).toContain(
      String.raw`a\u001b[2Jb\u000ac\u009bd\u202ee\u2028f\u007f`,
    );
  });
});

describe('CSV', () => {
  test('is as RFC 4180 has it: CRLF, and quotes only where they are needed', () => {
    const toText = formatter('csv');
    expect(toText([['1', 'a,b', 7]])).toBe('id,name,deviceId\r\n1,"a,b",7\r\n');
    expect(toText([['2', 'say "x"\r\ny', null]])).toBe('2,"say ""x""\r\ny",\r\n');
    expect(toText([['3', ' Nørre Allé ', -1]])).toBe('3, Nørre Allé ,-1\r\n');
  });

  test('has exact values, but for a terminal', () => {
    const row = ['=1+1', '\u001b[2J', 1];
    expect(formatter('csv')([row])).toContain('=1+1,\u001b[2J,1');
    expect(formatter('csv', true)([row])).toContain(String.raw`=1+1,\u001b[2J,1`);
  });
});

describe('JSON lines', () => {
  test('are one object a line, with exact values and nothing that commands a terminal', () => {
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

  test('are none where there are no rows', () => {
    expect(formatter('ndjson')([])).toBe('');
  });
});
