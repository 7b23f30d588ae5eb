/**
 * The commands of deploy/compose.yaml, one after the other as Compose would, without containers: the
 * folders of its volumes and the exporter's port are others, all else is as written.
 */
import { mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { MAIN, Workspace, launch } from '../acceptance/daemon.ts';
import { eventually, outcomeOf } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';

const SCRIPT = z.object({ command: z.tuple([z.string()]), entrypoint: z.array(z.string()) });
const { services } = z
  .object({
    services: z.object({
      exporter: z.object({
        command: z.array(z.string()),
        environment: z.record(z.string(), z.string()),
      }),
      history: SCRIPT,
      blocks: SCRIPT,
    }),
  })
  .parse(parse(readFileSync(new URL('../../deploy/compose.yaml', import.meta.url), 'utf8')));

const workspace = new Workspace();
const data = join(workspace.folder, 'data');
const storage = join(workspace.folder, 'prometheus');

afterAll(() => workspace.close());

test('ends in a Prometheus with the past of five libraries', async () => {
  mkdirSync(data);
  mkdirSync(storage);
  const { command, environment } = services.exporter;
  const exporter = launch(
    workspace,
    command.map((argument) => argument.replace(':10096', '127.0.0.1:0')),
    Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [name, inFolders(value)]),
    ),
  );
  await exporter.listening();
  await eventually(
    'a healthy exporter',
    async () => (await exporter.get('/-/healthy')).ok || undefined,
  );

  await runScripts();
  const files = readdirSync(join(data, 'history')).filter((name) => name.endsWith('.om'));
  expect(files).not.toEqual([]);
  for (const name of ['.', ...files]) {
    expect(statSync(join(data, 'history', name)).mode & 0o004).toBe(0o004);
  }
  {
    await using prometheus = await startPrometheus({}, { storage });
    // Four libraries, and the three branches of the fifth.
    const days = await prometheus.query(
      'count by (instance) (count_over_time(library_occupancy_people{job="library"}[3d:1d]) >= 2)',
    );
    expect(days).toEqual([{ labels: { instance: 'exporter:10096' }, value: 7 }]);
  }
  // A second start does nothing twice.
  const before = readdirSync(storage);
  await runScripts();
  expect(readdirSync(storage)).toEqual(before);
});

/** Runs the scripts of history and blocks as the shell gets them, in the folders of this test. */
async function runScripts(): Promise<void> {
  const path = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`;
  for (const { command, entrypoint } of [services.history, services.blocks]) {
    const [shell = '', ...flags] = entrypoint;
    const script = inFolders(command[0].replaceAll('$$', '$'))
      // Two days in place of five weeks, which take minutes.
      .replace('=-35d', '=-2d')
      .replace('library-stats-exporter backfill', `node ${MAIN} backfill`);
    const outcome = await outcomeOf(shell, [...flags, script], { env: { PATH: path } });
    expect(outcome).toMatchObject({ status: 0 });
  }
}

function inFolders(text: string): string {
  return text.replaceAll('/data', data).replaceAll('/prometheus', storage);
}
