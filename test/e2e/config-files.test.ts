/** promtool, amtool and jsonnet accept the shipped files; who receives which alert. */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hashSync } from '@node-rs/bcrypt';
import { expect, onTestFinished, test } from 'vitest';
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

/** The parts of the package's files that the page changes. */
const DEBIAN_FILES = {
  'etc/prometheus/prometheus.yml': `rule_files:
  # - "first_rules.yml"

scrape_configs:
  - job_name: node
    static_configs:
      - targets: ['localhost:9100']
`,
  'etc/default/prometheus': 'ARGS=""\n',
  'etc/default/prometheus-alertmanager': 'ARGS=""\n',
};

test('promtool and amtool accept what the commands of docs/debian.md write', () => {
  const folder = mkdtempSync(join(tmpdir(), 'debian-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(DEBIAN_FILES)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
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
  expect(readFileSync(join(folder, 'etc/default/prometheus'), 'utf8')).toBe(
    'ARGS="--storage.tsdb.retention.time=5y"\n',
  );
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

test('promtool takes the web configuration that the exporter takes', async () => {
  const { cert, key } = makeCertificate({ name: 'server', hosts: ['127.0.0.1'] });
  const text = `tls_server_config:
  cert_file: server.pem
  key_file: server-key.pem
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: server.pem
  min_version: TLS13
basic_auth_users:
  prometheus: ${hashSync('swift-lantern-orchard', 4)}
`;
  const folder = await folderOf({ 'server.pem': cert, 'server-key.pem': key, 'web.yml': text });
  const path = join(folder, 'web.yml');
  said('/usr/bin/promtool', 'check', 'web-config', path);
  const { config } = await loadWebConfig({ path, env: {} });
  expect([config.tls?.minVersion, config.users.size]).toEqual(['TLSv1.3', 1]);
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
