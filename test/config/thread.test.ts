/** Loading in a thread: long files would let the event loop stand still. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { configWith, folderOf, problemsIn } from './folder.ts';

test('a thread loads the same as this one, and finds the same problems', async () => {
  const customer = 'labels: { constructor: builder }\nbranches: { 101: Main Library }';
  const other = '[{ name: hilltop, client_id: h, client_secret_file: s, timezone: Asia/Tokyo }]';
  const good = configWith({ customer, more: 'customer_files: [more.yaml]' });
  const bad = configWith({ service: 'timeout: ${TIME}' });
  const files = { 'good.yaml': good, 'bad.yaml': bad, 'more.yaml': other, s: '${NAME}' };
  const folder = await folderOf(files, { 'good.yaml': 0o644 });
  const options = { path: join(folder, 'good.yaml'), env: {} };
  const inThread = await loadConfig({ ...options, inThread: true });
  expect(inThread.warnings).toHaveLength(1);
  expect(inThread).toStrictEqual(await loadConfig(options));
  const secrets = inThread.config.customers.map(({ clientSecret }) => clientSecret.secret.reveal());
  expect(secrets).toEqual(['hunter2hunter2', '${NAME}']);
  const wrong = { path: join(folder, 'bad.yaml'), env: {}, inThread: true };
  expect(await problemsIn(loadConfig(wrong))).toMatch(/variable TIME is not set/);
});
