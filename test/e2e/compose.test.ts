/**
 * The commands of deploy/compose.yaml, one after the other as Compose would, without containers: the
 * folders of its volumes and the exporter's port are others, all else is as written.
 */
import { mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { MAIN, Workspace, launch } from '../acceptance/daemon.ts';
import { eventually, outcomeOf } from './support/processes.ts';
import type { Outcome } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';

/** The folder that the paths of compose.yaml start from. */
const DEPLOY_FOLDER = new URL('../../deploy/', import.meta.url);
const STRINGS = z.array(z.string()).default([]);
const SERVICE = z.object({
  command: STRINGS,
  entrypoint: STRINGS,
  environment: z.record(z.string(), z.string()).default({}),
});
type Service = z.infer<typeof SERVICE>;
const COMPOSE = z
  .object({ services: z.record(z.string(), SERVICE) })
  .parse(parse(read('compose.yaml')));

const workspace = new Workspace();
const { folder } = workspace;
const data = join(folder, 'data');
const storage = join(folder, 'prometheus');

beforeAll(async () => {
  mkdirSync(data);
  mkdirSync(storage);
  const { command, environment } = serviceNamed('exporter');
  const exporter = launch(
    workspace,
    command.map((argument) => argument.replace(':10096', '127.0.0.1:0')),
    Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [name, inFolders(value)]),
    ),
  );
  await exporter.listening();
  await eventually('an exporter that is healthy', async () => {
    const { ok } = await exporter.get('/-/healthy');
    return ok || undefined;
  });
});

afterAll(() => workspace.close());

test('ends in a Prometheus with the past of five libraries', async () => {
  expect(await runScript('history')).toMatchObject({ status: 0 });
  const months = readdirSync(join(data, 'history')).filter((name) => name.endsWith('.om'));
  expect(months).not.toEqual([]);
  for (const name of ['.', ...months]) {
    expect(statSync(join(data, 'history', name)).mode & 0o004).toBe(0o004);
  }
  expect(await runScript('blocks')).toMatchObject({ status: 0 });

  const prometheus = await startPrometheus({}, { storage });
  try {
    // Four libraries, and the three branches of the fifth.
    const days = await prometheus.query(
      'count by (instance) (count_over_time(library_occupancy_people{job="library"}[3d:1d]) >= 2)',
    );
    expect(days).toEqual([{ labels: { instance: 'exporter:10096' }, value: 7 }]);
  } finally {
    await prometheus.stop();
  }
  // A second start does nothing twice.
  const before = readdirSync(storage);
  expect(await runScript('history')).toMatchObject({ status: 0 });
  expect(await runScript('blocks')).toMatchObject({ status: 0 });
  expect(readdirSync(storage)).toEqual(before);
});

function read(path: string): string {
  return readFileSync(new URL(path, DEPLOY_FOLDER), 'utf8');
}

function serviceNamed(name: string): Service {
  const service = COMPOSE.services[name];
  if (service === undefined) {
    throw new Error(`compose.yaml has no service ${name}`);
  }
  return service;
}

/** Runs the script of a service as the shell gets it, in the folders of this test. */
function runScript(name: string): Promise<Outcome> {
  const { entrypoint, command } = serviceNamed(name);
  const [shell = '', ...flags] = entrypoint;
  // Two days in place of five weeks, which take minutes.
  const script = inFolders(command.join('\n').replaceAll('$$', '$')).replace('=-35d', '=-2d');
  const path = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`;
  const args = [
    ...flags,
    script.replace('library-stats-exporter backfill', `node ${MAIN} backfill`),
  ];
  return outcomeOf(shell, args, { env: { PATH: path } });
}

function inFolders(text: string): string {
  return text.replaceAll('/data', data).replaceAll('/prometheus', storage);
}
