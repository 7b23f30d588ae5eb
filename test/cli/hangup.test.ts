/** SIGHUP while `run` still loads a configuration, which takes seconds if that is large. */
import { expect, onTestFinished, test } from 'vitest';
import { Workspace } from '../acceptance/daemon.ts';
import { configFlag } from './simulated-environment.ts';
import { Terminal } from './terminal.ts';

/** Receives SIGHUP as soon as that does not end the process. */
class HangupAtStart extends Terminal {
  logBefore: string | undefined;

  override readonly onHangup = (listener: () => void): void => {
    this.logBefore ??= this.err;
    listener();
  };
}

test('a SIGHUP before the configuration is loaded leads to a reload after the start', async () => {
  const workspace = new Workspace();
  onTestFinished(() => workspace.close());
  // Nothing listens on port 9: polls may fail here.
  const config = configFlag(workspace, 'http://127.0.0.1:9', { riverside: 'Europe/Copenhagen' });
  const terminal = new HangupAtStart();
  const flags = ['--web.listen-address=127.0.0.1:0', '--storage.path='];
  const running = terminal.run('run', config, ...flags);
  await expect
    .poll(() => terminal.logLines().map(({ msg }) => msg), { timeout: 20_000 })
    .toEqual(expect.arrayContaining(['listening', 'config reloaded']));
  expect(terminal.logBefore).toBe('');
  terminal.terminate();
  expect((await running).status).toBe(0);
});
