/** main.ts checks the version of Node.js first. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Pretends to be an old version, and fails at every import. */
const OLD_NODE = `
  import { registerHooks } from 'node:module';
  Object.defineProperty(process, 'version', { value: 'v20.11.0' });
  Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.11.0' } });
  registerHooks({
    resolve(specifier, context, next) {
      if (context.parentURL?.endsWith('/main.ts')) throw new Error('imported ' + specifier);
      return next(specifier, context);
    },
  });
`;

test('an old Node.js is refused with status 1 before anything is imported', () => {
  const preload = `data:text/javascript,${encodeURIComponent(OLD_NODE)}`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', preload, MAIN], {
    encoding: 'utf8',
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: '',
    stderr: 'library-stats-exporter: needs Node.js 24 or newer, this is v20.11.0\n',
  });
});
