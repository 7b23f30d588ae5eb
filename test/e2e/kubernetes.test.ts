/**
 * What deploy/kubernetes builds, and that its parts fit together and the exporter. No cluster has run
 * it.
 */
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { prometheusRule } from '../../deploy/rules.ts';
import { parseShard } from '../../src/cli/run.ts';
import { VERSION } from '../../src/cli/io.ts';
import { launch, Workspace } from '../acceptance/daemon.ts';
import { RULE_FILES, groupsOf } from '../prometheus/rules.ts';
import { debianProgram, run } from './support/processes.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = join(ROOT, 'deploy/kubernetes');
const NAME = 'library-stats-exporter';

const RESOURCE = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});
const PROBE = z.object({ httpGet: z.object({ path: z.string(), port: z.literal('http') }) });
const CONTAINER = z.object({
  args: z.array(z.string()),
  env: z.tuple([z.object({ name: z.literal('SHARDS'), value: z.string() })]),
  ports: z.tuple([z.object({ name: z.literal('http'), containerPort: z.number() })]),
  startupProbe: PROBE,
  readinessProbe: PROBE,
  livenessProbe: PROBE,
  volumeMounts: z.array(
    z.object({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().default(false) }),
  ),
});
const STATEFUL_SET = z.object({
  replicas: z.number(),
  template: z.object({ spec: z.object({ containers: z.tuple([CONTAINER]) }) }),
});

type Resource = z.infer<typeof RESOURCE>;

const workspace = new Workspace();
afterAll(() => workspace.close());

const resources = build();
const { replicas, template } = STATEFUL_SET.parse(resourceOf('StatefulSet')['spec']);
const [container] = template.spec.containers;

function build(folder = FOLDER): readonly Resource[] {
  const { status, output } = run(debianProgram('/usr/bin/kubectl'), ['kustomize', folder]);
  expect([status, output]).toEqual([0, expect.stringContaining('kind: StatefulSet')]);
  return parseAllDocuments(output).map((document) => RESOURCE.parse(document.toJS()));
}

function isDashboard({ metadata }: Resource): boolean {
  return metadata.name.startsWith('library-stats-dashboard-');
}

/** Returns the resource of this kind that is not a dashboard. */
function resourceOf(kind: string, among = resources): Resource {
  const found = among.find((resource) => resource.kind === kind && !isDashboard(resource));
  return RESOURCE.parse(found);
}

test('kustomize builds one of each resource, and the dashboards, all in one namespace', () => {
  const dashboards = resources.filter(isDashboard);
  const own = resources.filter((resource) => !isDashboard(resource));
  const kinds =
    'ConfigMap Namespace NetworkPolicy PodDisruptionBudget PodMonitor PrometheusRule Secret Service StatefulSet';
  expect(own.map(({ kind }) => kind).toSorted()).toEqual(kinds.split(' '));
  const namespace = resourceOf('Namespace').metadata.name;
  for (const { kind, metadata } of own.filter((resource) => resource.kind !== 'Namespace')) {
    expect([kind, metadata.name, metadata.namespace]).toEqual([kind, NAME, namespace]);
  }
  const files = readdirSync(join(ROOT, 'grafana/dashboards')).toSorted();
  const shown = dashboards.map(({ kind, metadata, data }) => {
    const [[file, text] = []] = Object.entries(z.record(z.string(), z.string()).parse(data));
    expect(text).toBe(readFileSync(join(ROOT, 'grafana/dashboards', file ?? ''), 'utf8'));
    expect(metadata).toMatchObject({ namespace, labels: { grafana_dashboard: '1' } });
    // kubectl apply keeps a copy in an annotation, and all annotations have at most 256 KiB.
    expect(text?.length).toBeLessThan(200_000);
    return `${kind} ${file}`;
  });
  expect(shown.toSorted()).toEqual(files.map((file) => `ConfigMap ${file}`));
});

const DOCS = readFileSync(join(ROOT, 'docs/kubernetes.md'), 'utf8');

/** What the overlay of docs/kubernetes.md builds, with a change. */
function buildOverlay(change = (text: string) => text): readonly Resource[] {
  const [, overlay = ''] = /```yaml\n(# kustomization\.yaml\n[^`]+)```/.exec(DOCS) ?? [];
  const base = relative(realpathSync(workspace.folder), FOLDER);
  workspace.write(
    'kustomization.yaml',
    `${change(overlay).replace('../library-stats-exporter/deploy/kubernetes', base)}`,
  );
  workspace.write('config.yaml', 'customers: []\n');
  workspace.write('riverside', 'hunter2hunter2');
  workspace.write('hillside', 'hunter3hunter3');
  return build(workspace.folder);
}

test('the overlay of docs/kubernetes.md builds with its own image and secrets', () => {
  const built = buildOverlay();
  expect(built).toHaveLength(resources.length);
  expect(resourceOf('ConfigMap', built)['data']).toEqual({ 'config.yaml': 'customers: []\n' });
  expect(resourceOf('Secret', built)['data']).toEqual({
    riverside: Buffer.from('hunter2hunter2').toString('base64'),
    hillside: Buffer.from('hunter3hunter3').toString('base64'),
  });
  const image = `your-registry/library-stats-exporter:${VERSION}`;
  expect(resourceOf('StatefulSet', built)['spec']).toMatchObject({
    template: { spec: { containers: [{ image }] } },
  });
});

test('the rules are those of prometheus/rules, as npm run rules writes them', () => {
  const groups = RULE_FILES.toSorted().flatMap(groupsOf);
  expect(readFileSync(join(FOLDER, 'prometheusrule.yaml'), 'utf8')).toBe(prometheusRule());
  expect(resourceOf('PrometheusRule', build())['spec']).toEqual({ groups });
});

/** The flag with the environment of the container, as Kubernetes expands it. */
function shardFlag({ args, env: [{ name, value }] }: z.infer<typeof CONTAINER>): string {
  const [, flag = ''] = /--shard=(\S+)/.exec(args.join(' ')) ?? [];
  return flag.replace(`$(${name})`, value);
}

test.each([1, 3])(
  'an overlay with %i shards has as many pods, and each is one of them',
  (shards) => {
    const built = buildOverlay((text) => text.replace('count: 1', `count: ${shards}`));
    const { replicas, template } = STATEFUL_SET.parse(resourceOf('StatefulSet', built)['spec']);
    expect(replicas).toBe(shards);
    const flag = shardFlag(template.spec.containers[0]);
    for (let shard = 0; shard < shards; shard += 1) {
      expect(parseShard(flag, `${NAME}-${shard}`)).toEqual({ shard, shards });
    }
  },
);

test('a pod starts with its arguments, configuration and secrets, and serves its probes', async () => {
  const config = z.object({ 'config.yaml': z.string() }).parse(resourceOf('ConfigMap')['data']);
  const secrets = z.record(z.string(), z.string()).parse(resourceOf('Secret')['data']);
  for (const [name, value] of Object.entries(secrets)) {
    workspace.write(name, Buffer.from(value, 'base64').toString());
  }
  /** Replaces the folders of the container by those of this test. */
  function here(text: string): string {
    const data = join(workspace.folder, 'data');
    return container.volumeMounts
      .reduce(
        (changed, { name, mountPath }) =>
          changed.replaceAll(mountPath, name === 'data' ? data : workspace.folder),
        text,
      )
      .replace(/(?<=--shard=).+/, shardFlag(container).replace('auto', '0'));
  }
  // Nobody responds there; the names of the example would be looked up.
  const offline = config['config.yaml'].replaceAll(/https:\/\/\S+/g, 'http://127.0.0.1:9');
  workspace.write('config.yaml', here(offline));
  const args = [...container.args.map(here), '--web.listen-address=127.0.0.1:0'];
  const daemon = await launch(workspace, args).listening();
  const shard = { shard: '0', shards: String(replicas) };
  expect(await daemon.value('library_exporter_shard_info', shard)).toBe(1);
  const { startupProbe, readinessProbe, livenessProbe } = container;
  for (const { httpGet } of [startupProbe, readinessProbe, livenessProbe]) {
    expect([httpGet.path, (await daemon.get(httpGet.path)).status]).toEqual([httpGet.path, 200]);
  }
});
