import { expect, test } from 'vitest';
import { formatValue, writeHead, writeSample } from '../../src/metrics/format.ts';

test.each([
  [0, '0'],
  [-0.5, '-0.5'],
  [1_773_133_187.75, '1773133187.75'],
  [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  [1e21, '1e+21'],
  [Number.NaN, 'NaN'],
  [Infinity, '+Inf'],
  [-Infinity, '-Inf'],
])('the value %d is written as %s', (value, text) => {
  expect(formatValue(value)).toBe(text);
});

test('a help text is escaped as its format says: quotation marks by OpenMetrics alone', () => {
  const head = { name: 'x_total', type: 'counter', help: 'a \\ "b"\nc' };
  expect(writeHead('text', head)).toBe('# HELP x_total a \\\\ "b"\\nc\n# TYPE x_total counter\n');
  expect(writeHead('openmetrics', head)).toBe('# HELP x a \\\\ \\"b\\"\\nc\n# TYPE x counter\n');
});

test('only counters lose the ending _total', () => {
  const head = { name: 'x_total', type: 'gauge', help: 'y' };
  expect(writeHead('openmetrics', head)).toContain('# TYPE x_total gauge\n');
});

test('a sample without labels has no braces', () => {
  expect(writeSample('x', '', 1)).toBe('x 1\n');
});
