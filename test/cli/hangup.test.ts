/** SIGHUP while `run` still reads its configuration, which takes seconds where that is large. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Terminal } from './terminal.ts';

/** Nobody listens there: whether polls are good is nothing to this. */
const CONFIG = `
service: { base_url: 'http://127.0.0.1:9', auth_url: 'http://127.0.0.1:9' }
customers:
  - { name: riverside, client_id: riverside-api, client_secret: otter-quay, timezone: Europe/Copenhagen }
`;

/** Is told to read its configuration again as soon as that does not end the process. */
class Hasty extends Terminal {
  saidBefore: string | undefined;

  override readonly onHangup = (listener: () => void): void => {
    this.saidBefore ??= this.err;
    listener();
  };
}

test('a reload that is asked for while the configuration is read is made when it was', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hangup-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const config = join(folder, 'config.yaml');
  writeFileSync(config, CONFIG, { mode: 0o600 });
  const terminal = new Hasty();
  const flags = ['--web.listen-address=127.0.0.1:0', '--storage.path='];
  const running = terminal.run('run', `--config.file=${config}`, ...flags);
  function messages(): unknown[] {
    return terminal.logLines().map(({ msg }) => msg);
  }
  await expect
    .poll(messages, { timeout: 20_000 })
    .toEqual(expect.arrayContaining(['listening', 'config reloaded']));
  expect(terminal.saidBefore).toBe('');
  terminal.terminate();
  expect((await running).status).toBe(0);
});
