/** grafana/mixin.libsonnet, evaluated by a real jsonnet. */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { RULE_FILES, groupsOf } from '../prometheus/rules.ts';
import { debianProgram, run } from './support/processes.ts';

const DASHBOARDS = new URL('../../grafana/dashboards/', import.meta.url);
const RULES = z.object({ groups: z.array(z.looseObject({ name: z.string() })) });
const MIXIN = z.object({
  grafanaDashboards: z.record(z.string(), z.unknown()),
  prometheusAlerts: RULES,
  prometheusRules: RULES,
});

test('it has every dashboard, by the name of its file, and the rules without those for devices', () => {
  const { grafanaDashboards, prometheusAlerts, prometheusRules } = evaluated('{}');
  const dashboards = readdirSync(DASHBOARDS).map((name) => [
    name,
    JSON.parse(readFileSync(new URL(name, DASHBOARDS), 'utf8')),
  ]);
  expect(grafanaDashboards).toEqual(Object.fromEntries(dashboards));
  expect(prometheusAlerts.groups).toMatchObject(groupsOf('rules/alerts.yml'));
  expect(prometheusRules.groups).toMatchObject(groupsOf('rules/recording.yml'));
});

test('it has the rules for devices if they are configured', () => {
  const { prometheusAlerts, prometheusRules } = evaluated('{ _config+:: { deviceRules: true } }');
  const names = [...prometheusRules.groups, ...prometheusAlerts.groups].map(({ name }) => name);
  const all = RULE_FILES.flatMap(groupsOf).map(({ name }) => name);
  expect(names.toSorted()).toEqual(all.toSorted());
});

test('links lead to the hosts that are configured', () => {
  const { prometheusAlerts } = evaluated(
    "{ _config+:: { docsUrl: 'https://docs.test', grafanaUrl: 'https://grafana.test' } }",
  );
  const hosts = JSON.stringify(prometheusAlerts).match(/(?<="https:\/\/)[^/"]+/g);
  expect(new Set(hosts)).toEqual(new Set(['docs.test', 'grafana.test']));
});

/** What users of the mixin get, who add an object to it. */
function evaluated(added: string): z.infer<typeof MIXIN> {
  const path = fileURLToPath(new URL('../../grafana/mixin.libsonnet', import.meta.url));
  const code = `local mixin = (import '${path}') + ${added};
    { [name]: mixin[name] for name in ['grafanaDashboards', 'prometheusAlerts', 'prometheusRules'] }`;
  return MIXIN.parse(JSON.parse(run(debianProgram('/usr/bin/jsonnet'), ['--exec', code]).output));
}
