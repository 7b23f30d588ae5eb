/** grafana/mixin.libsonnet, evaluated by a real jsonnet. */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { debianProgram, run } from './support/processes.ts';

const ROOT = new URL('../../', import.meta.url);
const GROUP = z.object({
  name: z.string(),
  rules: z.array(z.looseObject({ annotations: z.record(z.string(), z.string()).optional() })),
});
const GROUPS = z.object({ groups: z.array(GROUP) });
const MIXIN = z.object({
  grafanaDashboards: z.record(z.string(), z.unknown()),
  prometheusAlerts: GROUPS,
  prometheusRules: GROUPS,
});

test('it has every dashboard, by the name of its file', () => {
  const folder = new URL('grafana/dashboards/', ROOT);
  const files = readdirSync(folder).map((name) => [
    name,
    JSON.parse(readFileSync(new URL(name, folder), 'utf8')),
  ]);
  expect(evaluated('{}').grafanaDashboards).toEqual(Object.fromEntries(files));
});

describe('it has the rules of prometheus/rules', () => {
  test('without those for devices by default', () => {
    const { prometheusAlerts, prometheusRules } = evaluated('{}');
    expect(prometheusAlerts.groups).toMatchObject(groupsOf('alerts'));
    expect(prometheusRules.groups).toMatchObject(groupsOf('recording'));
  });

  test('and with them', () => {
    const { prometheusAlerts, prometheusRules } = evaluated('{ _config+:: { deviceRules: true } }');
    const groups = [...prometheusRules.groups, ...prometheusAlerts.groups];
    expect(groups.map(({ name }) => name).toSorted()).toEqual(
      ['recording', 'alerts', 'devices']
        .flatMap((name) => groupsOf(name).map((group) => group.name))
        .toSorted(),
    );
  });

  test('with links to the hosts that are configured', () => {
    const mixin = evaluated(
      "{ _config+:: { docsUrl: 'https://docs.test', grafanaUrl: 'https://grafana.test' } }",
    );
    const texts = mixin.prometheusAlerts.groups
      .flatMap(({ rules }) => rules.flatMap(({ annotations }) => Object.values(annotations ?? {})))
      .filter((text) => text.startsWith('https://'));
    expect(texts.length).toBeGreaterThan(0);
    expect(texts.filter((text) => !/^https:\/\/(docs|grafana)\.test\//.test(text))).toEqual([]);
  });
});

/** What users of the mixin get, who add an object to it. */
function evaluated(added: string): z.infer<typeof MIXIN> {
  const path = fileURLToPath(new URL('grafana/mixin.libsonnet', ROOT));
  const code = `local mixin = (import '${path}') + ${added};
    { [name]: mixin[name] for name in ['grafanaDashboards', 'prometheusAlerts', 'prometheusRules'] }`;
  return MIXIN.parse(JSON.parse(run(debianProgram('/usr/bin/jsonnet'), ['--exec', code]).output));
}

function groupsOf(name: string): z.infer<typeof GROUP>[] {
  const text = readFileSync(new URL(`prometheus/rules/${name}.yml`, ROOT), 'utf8');
  return GROUPS.parse(parse(text)).groups;
}
