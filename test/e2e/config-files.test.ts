/** promtool, amtool and jsonnet accept the shipped files; who receives which alert. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { loadWebConfig } from '../../src/config/web.ts';
import { folderOf } from '../config/folder.ts';
import { PROMETHEUS_FOLDER, RULE_FILES, groupsOf, readAlerts } from '../prometheus/rules.ts';
import { makeCertificate } from '../support/certificates.ts';
import { debianProgram, finished } from './support/processes.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ALERTMANAGER = pathOf('alertmanager.yml');
const FOR_LIBRARIES = /^Library(DirectionSilent|DoorSilent|OverCapacity|Zero(Logins|Traffic))$/;

test.each(RULE_FILES)('promtool accepts %s, and finds no rule twice', async (path) => {
  const rules = groupsOf(path).flatMap((group) => group.rules);
  const printed = await said('promtool', 'check', 'rules', '--lint=all', pathOf(path));
  expect(printed).toContain(`${rules.length} rules found`);
});

test('promtool and amtool accept the example configurations', async () => {
  const printed = await said('promtool', 'check', 'config', pathOf('prometheus.yml'));
  expect(printed).toContain(`${RULE_FILES.length} rule files found`);
  await said('amtool', 'check-config', ALERTMANAGER);
});

test('jsonnet makes the dashboards, the rules and the links to runbooks of the mixin', async () => {
  const path = `${ROOT}grafana/mixin.libsonnet`;
  const code = `local mixin = (import '${path}') + { _config+:: { runbooksUrl: 'https://docs.test/alerts' } };
    { [name]: mixin[name] for name in ['grafanaDashboards', 'prometheusAlerts', 'prometheusRules'] }`;
  const printed = await said('jsonnet', '--exec', code);
  const dashboards = readdirSync(`${ROOT}grafana/dashboards`).map((name) => {
    const text = readFileSync(`${ROOT}grafana/dashboards/${name}`, 'utf8');
    return [name, JSON.parse(text) as unknown];
  });
  expect(JSON.parse(printed)).toMatchObject({
    grafanaDashboards: Object.fromEntries(dashboards) as object,
    prometheusAlerts: { groups: groupsOf('rules/alerts.yml') },
    prometheusRules: { groups: groupsOf('rules/recording.yml') },
  });
  expect(printed.match(/(?<="runbook_url": ")[^"]+/g)).toEqual(
    readAlerts().map(({ alert }) => `https://docs.test/alerts#${alert.toLowerCase()}`),
  );
});

test('promtool and the exporter take the web.yml of docs/operations.md', async () => {
  const page = readFileSync(`${ROOT}docs/operations.md`, 'utf8');
  const [, text = ''] = /```yaml\n(# web\.yml\n[^]*?)```/.exec(page) ?? [];
  const { cert, key } = await makeCertificate({ name: 'server' });
  const files = { 'server.pem': cert, 'server-key.pem': key, 'clients-ca.pem': cert };
  const path = join(await folderOf({ ...files, 'web.yml': text }), 'web.yml');
  await said('promtool', 'check', 'web-config', path);
  const { config, warnings } = await loadWebConfig({ path, env: {} });
  expect(warnings).toEqual([]);
  expect(config.tls?.clientAuth).toBe('RequireAndVerifyClientCert');
  expect([...config.users.keys()]).toEqual(['prometheus']);
});

test.each(readAlerts())('$alert has a receiver', async ({ alert, labels }) => {
  const { severity, service } = labels;
  const matched = [`alertname=${alert}`, `severity=${severity}`, `service=${service}`];
  const file = `--config.file=${ALERTMANAGER}`;
  const receivers = await said('amtool', 'config', 'routes', 'test', file, ...matched);
  expect(receivers.split('\n')[0]).toBe(
    severity === 'critical' ? 'pager' : FOR_LIBRARIES.test(alert) ? 'libraries' : 'operators',
  );
});

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, PROMETHEUS_FOLDER));
}

/** What a program prints that succeeds. */
function said(program: string, ...args: readonly string[]) {
  return finished(debianProgram(program), args);
}
