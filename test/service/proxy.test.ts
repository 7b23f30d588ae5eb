/** NO_PROXY in the forms that Go's programs take; the proxy itself is tested in through-proxy.test.ts. */
import { describe, expect, test } from 'vitest';
import { isExempt, proxyEnvironmentFrom } from '../../src/service/proxy.ts';

describe('NO_PROXY', () => {
  test.each([
    ['', 'https://a.example.org', false],
    [',', 'https://a.example.org', false],
    ['*', 'https://a.example.org', true],
    ['example.org', 'https://example.org', true],
    ['example.org', 'https://a.b.example.org', true],
    ['example.org', 'https://badexample.org', false],
    ['EXAMPLE.org', 'https://A.Example.ORG', true],
    ['.example.org', 'https://a.example.org', true],
    ['.example.org', 'https://example.org', false],
    ['*.example.org', 'https://a.example.org', true],
    ['a.example.org', 'https://example.org', false],
    ['x, example.org ,y', 'https://example.org', true],
    ['example.org:443', 'https://example.org', true],
    ['example.org:8443', 'https://example.org', false],
    ['example.org:8443', 'https://a.example.org:8443', true],
    ['10.1.2.3', 'https://10.1.2.3', true],
    ['10.1.2.3:443', 'https://10.1.2.3', true],
    ['10.1.2.3:80', 'https://10.1.2.3', false],
    ['2.3', 'https://10.1.2.3', false],
    ['10.0.0.0/8', 'https://10.1.2.3', true],
    ['10.0.0.0/8', 'https://11.1.2.3', false],
    ['10.0.0.0/8', 'https://a.example.org', false],
    ['10.0.0.0/33', 'https://10.0.0.0', false],
    ['0.0.0.0/0', 'https://10.1.2.3', true],
    ['0.0.0.0/0', 'https://[::1]', false],
    ['nonsense/8', 'https://10.1.2.3', false],
    ['::1', 'https://[::1]', true],
    ['[::1]', 'https://[::1]', true],
    ['[::1]:443', 'https://[::1]', true],
    ['[::1]:80', 'https://[::1]', false],
    ['fd00::/8', 'https://[fd12::1]', true],
    ['fd00::/8', 'https://[fe80::1]', false],
    ['0:0:0:0:0:0:0:1', 'https://[::1]', true],
  ])('%j exempts %s: %s', (noProxy, url, exempt) => {
    expect(isExempt(new URL(url), noProxy)).toBe(exempt);
  });
});

test('the variables may be in small letters, and those in capitals come first', () => {
  expect(proxyEnvironmentFrom({ https_proxy: 'a', no_proxy: 'b' })).toEqual({
    HTTPS_PROXY: 'a',
    NO_PROXY: 'b',
  });
  expect(proxyEnvironmentFrom({ https_proxy: 'a', HTTPS_PROXY: 'c' }).HTTPS_PROXY).toBe('c');
  expect(proxyEnvironmentFrom({})).toEqual({ HTTPS_PROXY: undefined, NO_PROXY: undefined });
});
