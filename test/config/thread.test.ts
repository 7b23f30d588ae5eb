/** Loading in a thread: long files would let the event loop stand still. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { configWith, folderOf } from './folder.ts';

test('a thread loads the same as this one', async () => {
  const customer = 'labels: { constructor: builder }\nbranches: { 101: Main Library }';
  const folder = await folderOf(
    { 'config.yaml': configWith({ customer }) },
    { 'config.yaml': 0o644 },
  );
  const options = { path: join(folder, 'config.yaml'), env: {} };
  const inThread = await loadConfig({ ...options, inThread: true });
  expect(inThread.warnings).toHaveLength(1);
  expect(inThread).toStrictEqual(await loadConfig(options));
});
