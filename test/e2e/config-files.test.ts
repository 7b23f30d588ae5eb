/** promtool, amtool and jsonnet accept the shipped files; who receives which alert. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadWebConfig } from '../../src/config/web.ts';
import { folderOf } from '../config/folder.ts';
import { PROMETHEUS_FOLDER, RULE_FILES, groupsOf, readAlerts } from '../prometheus/rules.ts';
import { makeCertificate } from '../support/certificates.ts';
import { debianProgram, run } from './support/processes.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ALERTMANAGER = pathOf('alertmanager.yml');
const RULES = z.object({ groups: z.array(z.looseObject({ name: z.string() })) });
const MIXIN = z.object({
  grafanaDashboards: z.record(z.string(), z.unknown()),
  prometheusAlerts: RULES,
  prometheusRules: RULES,
});
const FOR_LIBRARIES = [
  'LibraryDirectionSilent',
  'LibraryDoorSilent',
  'LibraryOverCapacity',
  'LibraryZeroLogins',
  'LibraryZeroTraffic',
];

test.each(RULE_FILES)('promtool accepts %s, and finds no rule twice', (path) => {
  const rules = groupsOf(path).flatMap((group) => group.rules);
  expect(said('/usr/bin/promtool', 'check', 'rules', '--lint=all', pathOf(path))).toContain(
    `${rules.length} rules found`,
  );
});

test('promtool and amtool accept the example configurations', () => {
  expect(said('/usr/bin/promtool', 'check', 'config', pathOf('prometheus.yml'))).toContain(
    `${RULE_FILES.length} rule files found`,
  );
  said('/usr/bin/amtool', 'check-config', ALERTMANAGER);
});

/** The files of Debian's packages that the page changes, as far as it reads them. */
const DEBIAN_FILES = {
  'etc/prometheus/prometheus.yml': 'rule_files:\n\nscrape_configs:\n  - job_name: node\n',
  'etc/default/prometheus': 'ARGS=""\n',
  'etc/default/prometheus-alertmanager': 'ARGS=""\n',
};

test('promtool and amtool accept what the commands of docs/debian.md write', async () => {
  const folder = await folderOf(DEBIAN_FILES);
  const page = readFileSync(`${ROOT}docs/debian.md`, 'utf8');
  const commands = Array.from(page.matchAll(/```sh\n([^`]*)```/g), ([, block = '']) => block)
    .filter((block) => block.includes('/etc/prometheus/'))
    .join('')
    .replaceAll('/usr/share/library-stats-exporter/', `${ROOT}prometheus/`)
    .replaceAll('/etc/', `${folder}/etc/`)
    .replaceAll(/^(?:systemctl|chown|amtool --alertmanager\.url=\S+) .*$/gm, '')
    .replaceAll(/^promtool /gm, `${debianProgram('/usr/bin/promtool')} `)
    .replaceAll(/^amtool /gm, `${debianProgram('/usr/bin/amtool')} `);
  const { status, output } = run('/bin/sh', ['-euc', `cd ${ROOT}\n${commands}`]);
  expect({ status, output }).toMatchObject({ status: 0 });
  expect(output).toContain('2 rule files found');
  expect(output).toContain('8 inhibit rules');
  const config = readFileSync(join(folder, 'etc/prometheus/prometheus.yml'), 'utf8');
  expect(parse(config)).toMatchObject({
    scrape_configs: [{ job_name: 'node' }, { job_name: 'library' }],
  });
});

test('jsonnet makes the dashboards, the rules and the links to runbooks of the mixin', () => {
  const path = `${ROOT}grafana/mixin.libsonnet`;
  const code = `local mixin = (import '${path}') + { _config+:: { runbooksUrl: 'https://docs.test/alerts' } };
    { [name]: mixin[name] for name in ['grafanaDashboards', 'prometheusAlerts', 'prometheusRules'] }`;
  const mixin = MIXIN.parse(JSON.parse(said('/usr/bin/jsonnet', '--exec', code)));
  const files = readdirSync(`${ROOT}grafana/dashboards`);
  const dashboards = files.map((name) => [
    name,
    JSON.parse(readFileSync(`${ROOT}grafana/dashboards/${name}`, 'utf8')) as unknown,
  ]);
  expect(mixin.grafanaDashboards).toEqual(Object.fromEntries(dashboards));
  expect(mixin.prometheusAlerts.groups).toMatchObject(groupsOf('rules/alerts.yml'));
  expect(mixin.prometheusRules.groups).toMatchObject(groupsOf('rules/recording.yml'));
  const links = JSON.stringify(mixin.prometheusAlerts).match(/(?<="runbook_url":")[^"]+/g);
  expect(links).toEqual(
    readAlerts().map(({ alert }) => `https://docs.test/alerts#${alert.toLowerCase()}`),
  );
});

test('promtool and the exporter take the web.yml of docs/operations.md', async () => {
  const page = readFileSync(`${ROOT}docs/operations.md`, 'utf8');
  const [, text = ''] = /```yaml\n(# web\.yml\n[^]*?)```/.exec(page) ?? [];
  const { cert, key } = makeCertificate({ name: 'server' });
  const files = { 'server.pem': cert, 'server-key.pem': key, 'clients-ca.pem': cert };
  const path = join(await folderOf({ ...files, 'web.yml': text }), 'web.yml');
  said('/usr/bin/promtool', 'check', 'web-config', path);
  const { config, warnings } = await loadWebConfig({ path, env: {} });
  expect(warnings).toEqual([]);
  expect(config.tls?.clientAuth).toBe('RequireAndVerifyClientCert');
  expect([...config.users.keys()]).toEqual(['prometheus']);
});

test.each(readAlerts())('$alert has a receiver', ({ alert, labels: { severity, service } }) => {
  const labels = [`alertname=${alert}`, `severity=${severity}`, `service=${service}`];
  const file = `--config.file=${ALERTMANAGER}`;
  const receivers = said('/usr/bin/amtool', 'config', 'routes', 'test', file, ...labels);
  expect(receivers.split('\n')[0]).toBe(
    severity === 'critical' ? 'pager' : FOR_LIBRARIES.includes(alert) ? 'libraries' : 'operators',
  );
});

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, PROMETHEUS_FOLDER));
}

/** What a program prints that succeeds. */
function said(program: Parameters<typeof debianProgram>[0], ...args: readonly string[]): string {
  const { status, output } = run(debianProgram(program), args);
  expect({ status, output }).toMatchObject({ status: 0 });
  return output;
}
