/**
 * The commands of deploy/compose.yaml, one after the other as Compose would, without containers: the
 * folders of its volumes and the exporter's port are others, all else is as written.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEPLOY_FOLDER, mountsOf, scriptOf, serviceNamed } from '../container/compose.ts';
import { listeningUrl } from './support/demo.ts';
import { MAIN, debianProgram, eventually, outcomeOf, run, start } from './support/processes.ts';
import type { Outcome, Running } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';

const folder = mkdtempSync(join(tmpdir(), 'compose-'));
const data = join(folder, 'data');
const storage = join(folder, 'prometheus');
let exporter: Running;

beforeAll(async () => {
  mkdirSync(data);
  mkdirSync(storage);
  const { command = [], environment = {} } = serviceNamed('exporter');
  exporter = start(
    'env',
    [
      ...Object.entries(environment).map(([name, value]) => `${name}=${inFolders(value)}`),
      process.execPath,
      MAIN,
      ...command.map((argument) => argument.replace(':10096', '127.0.0.1:0')),
    ],
    folder,
  );
  const url = await exporter.lineWhere(listeningUrl);
  await eventually('an exporter that is healthy', async () => {
    const { ok } = await fetch(new URL('/-/healthy', url));
    return ok || undefined;
  });
});

afterAll(async () => {
  await exporter?.stop();
  rmSync(folder, { recursive: true });
});

test('ends in a Prometheus with five weeks of five libraries', { timeout: 900_000 }, async () => {
  expect(await runScript('history')).toMatchObject({ status: 0 });
  const months = readdirSync(join(data, 'history')).filter((name) => name.endsWith('.om'));
  expect(months.length).toBeGreaterThanOrEqual(2);
  // Prometheus's image runs as somebody else.
  for (const path of [
    join(data, 'history'),
    ...months.map((name) => join(data, 'history', name)),
  ]) {
    expect(statSync(path).mode & 0o004).toBe(0o004);
  }
  expect(await runScript('blocks')).toMatchObject({ status: 0 });

  const prometheus = await startPrometheus({}, { storage });
  try {
    const days = await prometheus.query(
      'count by (instance) (count_over_time(library_occupancy_people{job="library"}[36d:1d]) >= 34)',
    );
    expect(days).toEqual([{ labels: { instance: 'exporter:10096' }, value: 5 }]);
  } finally {
    await prometheus.stop();
  }
  // A second start does nothing twice.
  const before = readdirSync(storage);
  expect(await runScript('history')).toMatchObject({ status: 0 });
  expect(await runScript('blocks')).toMatchObject({ status: 0 });
  expect(readdirSync(storage)).toEqual(before);
});

test.each([
  ['/usr/bin/promtool', 'prometheus', ['check', 'config'], 'prometheus.yml'],
  ['/usr/bin/amtool', 'alertmanager', ['check-config'], 'alertmanager.yml'],
] as const)('%s takes what %s mounts', (program, name, command, file) => {
  const place = join(folder, name, 'mounted');
  for (const { source, target } of mountsOf(serviceNamed(name))) {
    if (source.startsWith('.')) {
      cpSync(fileURLToPath(new URL(source, DEPLOY_FOLDER)), join(place, target), {
        recursive: true,
      });
    }
  }
  const config = `/etc/${name}/${file}`;
  expect(serviceNamed(name).command).toContain(`--config.file=${config}`);
  const { status, output } = run(debianProgram(program), [...command, join(place, config)]);
  expect({ status, output }).toMatchObject({ status: 0 });
});

/** The script of a service, in the folders of this test. */
function runScript(name: string): Promise<Outcome> {
  const service = serviceNamed(name);
  const [shell = '', ...flags] = service.entrypoint ?? [];
  const script = inFolders(scriptOf(service)).replace('/app/src/main.ts', MAIN);
  const path = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`;
  return outcomeOf(shell, [...flags, script], { env: { PATH: path } });
}

function inFolders(text: string): string {
  return text.replaceAll('/data', data).replaceAll('/prometheus', storage);
}
