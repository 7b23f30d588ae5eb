/** The prefix of all paths, and the address that clients use, as blackbox_exporter has them. */
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/base/errors.ts';
import { createPaths } from '../../src/web/paths.ts';
import { USERS, ask, protectedServer, urlOf } from './protected.ts';

const PROXY = { scheme: 'https', host: 'example.org:443' };
const LOOPBACK = { scheme: 'http', host: '[::1]:80' };

test.each([
  [undefined, undefined, '', '/', '/metrics', undefined],
  ['https://example.org/a/', undefined, '/a', 'https://example.org/a/', '/a/metrics', PROXY],
  ['https://example.org/a', 'b/', '/b', 'https://example.org/a/', '/a/metrics', PROXY],
  ['http://[::1]/%7Eme', '/', '', 'http://[::1]/%7Eme/', '/%7Eme/metrics', LOOPBACK],
  ['/library/', undefined, '/library', '/library/', '/library/metrics', undefined],
])('URL %j and prefix %j', (externalUrl, routePrefix, prefix, home, metrics, address) => {
  const paths = createPaths({ telemetryPath: '/metrics', externalUrl, routePrefix });
  expect(paths).toEqual({ prefix, home, metrics, address });
});

test.each(['metrics', '', '/:id', '/-/ready'])('the metrics are not at %j', (telemetryPath) => {
  expect(() => createPaths({ telemetryPath })).toThrow(UsageError);
});

test.each([
  ['example.org', undefined, '--web.external-url: expected a URL such as'],
  ['https://me:secret@example.org', undefined, '--web.external-url: expected a URL such as'],
  ['https://example.org/:id', undefined, '--web.external-url: expected a path of letters'],
  ['', '/*', '--web.route-prefix: expected a path of letters, digits and -._~/, other than'],
  ['', '..', '--web.route-prefix: expected a path of letters, digits and -._~/'],
])('URL %j and prefix %j are a usage error', (externalUrl, routePrefix, message) => {
  expect(() => createPaths({ telemetryPath: '/metrics', externalUrl, routePrefix })).toThrow(
    expect.toSatisfy((error) => error instanceof UsageError && error.message.startsWith(message)),
  );
});

describe('behind a proxy', () => {
  const externalUrl = 'https://example.org/library';

  test('every path is below the prefix, and no other', async () => {
    const url = await urlOf({ externalUrl, telemetryPath: '/stats' });
    for (const path of ['/', '/stats', '/config', '/sd', '/-/healthy', '/-/ready']) {
      const status = path === '/' ? 302 : 404;
      expect([path, (await ask(url, path)).status]).toEqual([path, status]);
      expect([path, (await ask(url, `/library${path}`)).status]).toEqual([path, 200]);
    }
    expect((await ask(url, '/library/')).body).toContain('href="./stats"');
  });

  test('only health checks below the prefix need no password', async () => {
    const { url } = await protectedServer({ users: USERS }, { externalUrl });
    for (const [path, status] of [
      ['/library/-/ready', 200],
      ['/library/-/healthy', 200],
      ['/library/metrics', 401],
      ['/-/healthy', 401],
    ] as const) {
      expect([path, (await ask(url, path)).status]).toEqual([path, status]);
    }
  });
});
