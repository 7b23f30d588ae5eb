import { expect, test } from 'vitest';
import { UsageError } from '../../src/base/errors.ts';
import { parseListenAddress, urlOf } from '../../src/web/listen-address.ts';

test.each([
  [':10096', undefined, 10_096],
  ['127.0.0.1:0', '127.0.0.1', 0],
  ['[::1]:9000', '::1', 9_000],
  ['[::]:80', '::', 80],
  ['localhost:65535', 'localhost', 65_535],
])('%s', (text, host, port) => {
  expect(parseListenAddress(text)).toEqual({ host, port });
});

test.each([
  '',
  '10096',
  ':',
  ':65536',
  ':-1',
  '::1:9000',
  '[::1]',
  '[x]:1',
  '[]:1',
  'a b:1',
  'http://x:1',
])('%j is refused with what would be right', (text) => {
  expect(() => parseListenAddress(text)).toThrow(UsageError);
  expect(() => parseListenAddress(text)).toThrow(
    `${JSON.stringify(text)} is not an address to listen on: write HOST:PORT, as in 127.0.0.1:10096`,
  );
});

test('the url is one that can be opened on this machine', () => {
  expect(urlOf('http', { address: '127.0.0.1', port: 1 })).toBe('http://127.0.0.1:1');
  expect(urlOf('http', { address: '::1', port: 1 })).toBe('http://[::1]:1');
  expect(urlOf('https', { address: '::', port: 1 })).toBe('https://localhost:1');
  expect(urlOf('http', { address: '0.0.0.0', port: 1 })).toBe('http://localhost:1');
});
