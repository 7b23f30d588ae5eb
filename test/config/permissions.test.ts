/** A file that the process may not read. No other test is here: a worker thread cannot change its user. */
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { configWith, folderOf } from './folder.ts';

test('a secret file without permission is reported with its path', async () => {
  const config = configWith({}).replace(
    'client_secret: hunter2hunter2',
    'client_secret_file: riverside',
  );
  const files = { 'config.yaml': config, riverside: 'hunter2hunter2' };
  const folder = await folderOf(files, { 'config.yaml': 0o644, riverside: 0o000 });
  await chmod(folder, 0o755);
  if (process.geteuid?.() === 0) {
    // Root may read everything.
    process.seteuid?.(65_534);
    onTestFinished(() => process.seteuid?.(0));
  }
  const path = join(folder, 'config.yaml');
  const secret = join(folder, 'riverside');
  await expect(loadConfig({ path, env: {} })).rejects.toThrow(
    `${path}:7:25: customers[0].client_secret_file: ${secret} cannot be read by this process: permission denied`,
  );
});
