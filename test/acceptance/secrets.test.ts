/**
 * Nothing that leaves a process contains a secret or a token, in part or encoded: debug logs in both formats, pages,
 * metrics, files and the output of each command, while the service repeats what it was sent in its responses.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { oddSecret, partsIn } from '../support/disguises.ts';
import { ran } from '../cli/terminal.ts';
import { eventually, flagsFor, launch } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { exact } from './expected.ts';
import { Harness } from './harness.ts';

const ECHOES = ['echo in the error', 'echo in the rows', 'echo in the headers'] as const;
const PAGES = ['/metrics', '/', '/config', '/-/ready', '/-/healthy', '/nowhere', '/-/reload'];

const harness = new Harness();
const { service, workspace } = harness;
const riverside = harness.addCustomer('riverside');
riverside.secret = oddSecret();

async function pagesOf(daemon: Daemon): Promise<string> {
  const pages = PAGES.map(async (path) => {
    const response = await daemon.get(path);
    return JSON.stringify([...response.headers]) + (await response.text());
  });
  return (await Promise.all(pages)).join('\n');
}

/** The output of each command that asks the service, and of what it writes. */
async function commandsOf(file: string): Promise<string> {
  const commands = [
    ['check', '--connect'],
    ['query', 'login', '--customer=riverside', '--aggregation=day', '--format=json'],
    ['query', 'peoplecount', '--customer=riverside', '--limit=5'],
    ['report', '--from=2026-01-01', '--to=2026-02-01', '--format=html'],
    ['backfill', '--from=-2d', '--to=-1h', `--output=${workspace.folder}/history`],
  ];
  const outputs = commands.map(async (command) => {
    const { out, err } = await ran(...command, `--config.file=${file}`);
    expect(out + err).not.toBe('');
    return out + err;
  });
  return (await Promise.all(outputs)).join('\n');
}

/** What the processes wrote: their storage and the history. */
function writtenFiles(): string {
  return readdirSync(workspace.folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.parentPath !== workspace.folder)
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}

test('no output contains a secret or a token, whatever the service repeats', async () => {
  const file = harness.configure([riverside]);
  const daemons = await Promise.all(
    ['json', 'pretty'].map(async (format) => {
      const storage = `--storage.path=${workspace.folder}/${format}`;
      const flags = [storage, `--log.format=${format}`, '--log.level=debug'];
      const args = flagsFor(workspace, file, '--web.enable-lifecycle', ...flags);
      return launch(workspace, args).listening();
    }),
  );
  await Promise.all(daemons.map(async (daemon) => exact(daemon, riverside)));
  let shown = '';
  for (const endpoint of ['peoplecount', 'token'] as const) {
    for (const echo of ECHOES) {
      riverside.faults = endpoint === 'token' ? { token: echo } : { data: echo };
      const { length } = service.requestsOf(riverside, endpoint);
      service.revokeTokens(riverside);
      // A reload forgets tokens and waits of the failed attempts before.
      harness.configure([riverside], { service: { timeout: `${9 + ECHOES.indexOf(echo)}s` } });
      await Promise.all(daemons.map(async (daemon) => daemon.reload()));
      await eventually(() => {
        expect(service.requestsOf(riverside, endpoint).length).toBeGreaterThanOrEqual(length + 2);
      });
      shown += (await Promise.all(daemons.map(pagesOf))).join('\n');
      shown += await commandsOf(file);
    }
  }
  const misplaced = { client_secret: [riverside.secret], [riverside.secret]: riverside.secret };
  const bad = { customers: [{ name: riverside.secret, ...misplaced }] };
  workspace.write('config.yaml', JSON.stringify(bad));
  for (const daemon of daemons) {
    const response = await daemon.reload();
    expect(response.status).toBe(400);
    shown += await response.text();
    await daemon.stop();
  }
  const output = daemons.map(({ stdout, stderr }) => stdout + stderr);
  expect(writtenFiles()).toContain('SQLite format 3');
  expect(daemons[0]?.logged('poll failed').length).toBeGreaterThan(0);
  expect(partsIn([shown, ...output, writtenFiles()].join('\n'), service.secrets())).toEqual([]);
});
