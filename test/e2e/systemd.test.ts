/**
 * The unit of deploy/systemd: checked by systemd-analyze, and its command run as systemd would run it.
 * docs/debian.md#what-was-run says with which systemd the unit itself was run.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { launch, Workspace } from '../acceptance/daemon.ts';
import { debianProgram, run } from './support/processes.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NAME = 'library-stats-exporter.service';
const UNIT = readFileSync(join(ROOT, 'deploy/systemd', NAME), 'utf8');
const CONFIG = '/etc/library-stats-exporter/config.yaml';

const workspace = new Workspace();
afterAll(() => workspace.close());

/** Uses the Node.js of these tests: Debian's may be missing, and older. */
const ofThisNode = UNIT.replace('ExecStart=node', `ExecStart=${process.execPath}`);
const unitHere = workspace.write(NAME, ofThisNode);

function settingOf(key: string): string {
  const lines = UNIT.replaceAll(/\\\n\s*/g, '').split('\n');
  return lines.find((line) => line.startsWith(`${key}=`))?.slice(key.length + 1) ?? '';
}

test('systemd-analyze verify has nothing to say', () => {
  const { status, output } = run(debianProgram('/usr/bin/systemd-analyze'), ['verify', unitHere]);
  expect(output).toBe('');
  expect(status).toBe(0);
});

test('its exposure is 2.0 at most', () => {
  const args = ['security', '--offline=true', '--threshold=20', unitHere];
  const { status, output } = run(debianProgram('/usr/bin/systemd-analyze'), args);
  const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(output)?.[1]);
  expect(exposure).toBeLessThanOrEqual(2);
  expect(status).toBe(0);
});

test('its command starts the exporter with secrets that systemd hands over', async () => {
  workspace.write('secrets_riverside', 'hunter2hunter2\n');
  const [id, path] = settingOf('LoadCredential').split(':');
  expect(`${id}_riverside from ${path}`).toBe(
    'secrets_riverside from /etc/library-stats-exporter/secrets',
  );
  const config = workspace.write(
    'config.yaml',
    `service: { base_url: "http://127.0.0.1:9", auth_url: "http://127.0.0.1:9" }
customers:
  - name: riverside
    client_id: riverside-api
    client_secret_file: \${CREDENTIALS_DIRECTORY}/secrets_riverside
    timezone: Europe/Copenhagen
`,
  );
  const [program, ...words] = settingOf('ExecStart').split(/\s+/);
  const [script, ...flags] = words.slice(words.findIndex((word) => !word.startsWith('--')));
  expect(program).toBe('node');
  expect(script).toBe('/opt/library-stats-exporter/dist/main.js');
  const args = flags.map((flag) =>
    flag.replace(CONFIG, config).replace('${STATE_DIRECTORY}', join(workspace.folder, 'state')),
  );
  const daemon = await launch(workspace, [...args, '--web.listen-address=127.0.0.1:0'], {
    CREDENTIALS_DIRECTORY: workspace.folder,
  }).listening();
  expect((await daemon.get('/-/ready')).status).toBe(200);
  expect(settingOf('ExecReload')).toBe('/bin/kill -HUP $MAINPID');
  expect(await daemon.stop()).toBe(0);
});
