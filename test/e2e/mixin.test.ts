/** grafana/mixin.libsonnet, evaluated by a real jsonnet. */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { groupsOf, readAlerts } from '../prometheus/rules.ts';
import { debianProgram, run } from './support/processes.ts';

const DASHBOARDS = new URL('../../grafana/dashboards/', import.meta.url);
const RULES = z.object({ groups: z.array(z.looseObject({ name: z.string() })) });
const MIXIN = z.object({
  grafanaDashboards: z.record(z.string(), z.unknown()),
  prometheusAlerts: RULES,
  prometheusRules: RULES,
});

test('it has every dashboard, by the name of its file, and the rules', () => {
  const { grafanaDashboards, prometheusAlerts, prometheusRules } = evaluated('{}');
  const dashboards = readdirSync(DASHBOARDS).map((name) => [
    name,
    JSON.parse(readFileSync(new URL(name, DASHBOARDS), 'utf8')),
  ]);
  expect(grafanaDashboards).toEqual(Object.fromEntries(dashboards));
  expect(prometheusAlerts.groups).toMatchObject(groupsOf('rules/alerts.yml'));
  expect(prometheusRules.groups).toMatchObject(groupsOf('rules/recording.yml'));
});

test('each alert links to its runbook, on the page that is configured', () => {
  const { prometheusAlerts } = evaluated(
    "{ _config+:: { runbooksUrl: 'https://docs.test/alerts' } }",
  );
  const links = JSON.stringify(prometheusAlerts).match(/(?<="runbook_url":")[^"]+/g);
  expect(links).toEqual(
    readAlerts().map(({ alert }) => `https://docs.test/alerts#${alert.toLowerCase()}`),
  );
});

/** What users of the mixin get, who add an object to it. */
function evaluated(added: string): z.infer<typeof MIXIN> {
  const path = fileURLToPath(new URL('../../grafana/mixin.libsonnet', import.meta.url));
  const code = `local mixin = (import '${path}') + ${added};
    { [name]: mixin[name] for name in ['grafanaDashboards', 'prometheusAlerts', 'prometheusRules'] }`;
  return MIXIN.parse(JSON.parse(run(debianProgram('/usr/bin/jsonnet'), ['--exec', code]).output));
}
