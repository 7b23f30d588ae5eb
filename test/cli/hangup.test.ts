/** SIGHUP while `run` still loads a configuration, which takes seconds if that is large. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Terminal } from './terminal.ts';

/** Nothing listens on port 9: polls may fail here. */
const CONFIG = `
service: { base_url: 'http://127.0.0.1:9', auth_url: 'http://127.0.0.1:9' }
customers:
  - { name: riverside, client_id: riverside-api, client_secret: otter-quay, timezone: Europe/Copenhagen }
`;

/** Receives SIGHUP as soon as that does not end the process. */
class HangupAtStart extends Terminal {
  logBefore: string | undefined;

  override readonly onHangup = (listener: () => void): void => {
    this.logBefore ??= this.err;
    listener();
  };
}

test('a SIGHUP before the configuration is loaded leads to a reload after the start', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hangup-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const config = join(folder, 'config.yaml');
  writeFileSync(config, CONFIG, { mode: 0o600 });
  const terminal = new HangupAtStart();
  const flags = ['--web.listen-address=127.0.0.1:0', '--storage.path='];
  const running = terminal.run('run', `--config.file=${config}`, ...flags);
  await expect
    .poll(() => terminal.logLines().map(({ msg }) => msg), { timeout: 20_000 })
    .toEqual(expect.arrayContaining(['listening', 'config reloaded']));
  expect(terminal.logBefore).toBe('');
  terminal.terminate();
  expect((await running).status).toBe(0);
});
