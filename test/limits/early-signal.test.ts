/** SIGTERM while the program is still being loaded, which takes longer than all that comes after. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const mainFile = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Ends the process by SIGTERM at the moment at which the command line begins to be loaded. */
const PRELOAD = `
  import { registerHooks } from 'node:module';
  registerHooks({
    load(url, context, nextLoad) {
      if (url.endsWith('/src/cli/program.ts')) {
        process.kill(process.pid, 'SIGTERM');
      }
      return nextLoad(url, context);
    },
  });
`;

test('SIGTERM while the program is being loaded ends it with status 0', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'early-signal-'));
  const preload = join(folder, 'preload.mjs');
  writeFileSync(preload, PRELOAD);
  const child = spawn(process.execPath, ['--import', preload, mainFile, 'service'], {
    stdio: 'ignore',
  });
  const watchdog = setTimeout(() => child.kill('SIGKILL'), 10_000);
  const exit = await new Promise((resolve) =>
    child.once('exit', (status, signal) => resolve(status ?? signal)),
  );
  clearTimeout(watchdog);
  rmSync(folder, { recursive: true });
  expect(exit).toBe(0);
});
