/**
 * What deploy/kubernetes builds, and that its parts fit together and the exporter. No cluster has run
 * it. After a change of prometheus/rules, `vitest run … --update kubernetes` writes the rules anew.
 */
import { readFileSync, readdirSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { z } from 'zod';
import { parseShard } from '../../src/cli/run.ts';
import { VERSION } from '../../src/cli/io.ts';
import { launch, Workspace } from '../acceptance/daemon.ts';
import type { Daemon } from '../acceptance/daemon.ts';
import { debianProgram, run } from './support/processes.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = join(ROOT, 'deploy/kubernetes');
const RULES = join(ROOT, 'prometheus/rules');
const NAME = 'library-stats-exporter';
const LABELS = { 'app.kubernetes.io/name': NAME };

const RESOURCE = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});
const PROBE = z.object({ httpGet: z.object({ path: z.string(), port: z.literal('http') }) });
const MOUNTS = z.array(
  z.object({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().optional() }),
);
const CONTAINER = z.looseObject({
  image: z.string(),
  args: z.array(z.string()),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
  startupProbe: PROBE.loose(),
  readinessProbe: PROBE.loose(),
  livenessProbe: PROBE.loose(),
  volumeMounts: MOUNTS,
  securityContext: z.object({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
  }),
});
const STATEFUL_SET = z.looseObject({
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({
    serviceName: z.string(),
    replicas: z.number(),
    podManagementPolicy: z.literal('Parallel'),
    template: z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      spec: z.looseObject({
        securityContext: z.looseObject({ runAsNonRoot: z.literal(true), runAsUser: z.number() }),
        containers: z.tuple([CONTAINER]),
        volumes: z.array(z.looseObject({ name: z.string() })),
      }),
    }),
    volumeClaimTemplates: z.array(z.looseObject({ metadata: z.object({ name: z.string() }) })),
  }),
});

type Resource = z.infer<typeof RESOURCE>;

const workspace = new Workspace();
let resources: readonly Resource[];
let statefulSet: z.infer<typeof STATEFUL_SET>;
let container: z.infer<typeof CONTAINER>;

beforeAll(() => {
  resources = build();
  statefulSet = STATEFUL_SET.parse(resourceOf('StatefulSet'));
  [container] = statefulSet.spec.template.spec.containers;
});
afterAll(() => workspace.close());

function build(folder = FOLDER): readonly Resource[] {
  const { status, output } = run(debianProgram('/usr/bin/kubectl'), ['kustomize', folder]);
  expect([status, output]).toEqual([0, expect.stringContaining('kind: StatefulSet')]);
  return parseAllDocuments(output).map((document) => RESOURCE.parse(document.toJS()));
}

function resourceOf(kind: string, among = resources): Resource {
  const found = among.filter((resource) => resource.kind === kind);
  expect(found).toHaveLength(1);
  return RESOURCE.parse(found[0]);
}

test('kustomize builds one of each resource, all in one namespace', () => {
  expect(resources.map(({ kind }) => kind).toSorted()).toEqual([
    'ConfigMap',
    'Namespace',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'PodMonitor',
    'PrometheusRule',
    'Secret',
    'Service',
    'StatefulSet',
  ]);
  const namespace = resourceOf('Namespace').metadata.name;
  for (const { kind, metadata } of resources.filter((resource) => resource.kind !== 'Namespace')) {
    expect([kind, metadata.name, metadata.namespace]).toEqual([kind, NAME, namespace]);
  }
});

test('every file of the folder is built', () => {
  const text = readFileSync(join(FOLDER, 'kustomization.yaml'), 'utf8');
  const files = readdirSync(FOLDER).filter((name) => name !== 'kustomization.yaml');
  expect(files.filter((name) => !text.includes(`- ${name}\n`))).toEqual([]);
});

const DOCS = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
const PATCHES = Array.from(
  DOCS.matchAll(/```yaml\n# patch: ([^\n]+)\n([^`]+)```/g),
  ([, name = '', patches = '']) => ({ name, patches }),
);

/** What the overlay of docs/operations.md builds, with further lines. */
function buildOverlay(lines = ''): readonly Resource[] {
  const [, overlay = ''] = /```yaml\n(# kustomization\.yaml\n[^`]+)```/.exec(DOCS) ?? [];
  const base = relative(realpathSync(workspace.folder), FOLDER);
  workspace.write(
    'kustomization.yaml',
    `${overlay.replace('../library-stats-exporter/deploy/kubernetes', base)}${lines}`,
  );
  workspace.write('config.yaml', 'customers: []\n');
  workspace.write('riverside', 'hunter2hunter2');
  workspace.write('hillside', 'hunter3hunter3');
  return build(workspace.folder);
}

test('the overlay of docs/operations.md builds with its own image and secrets', () => {
  const built = buildOverlay();
  expect(built).toHaveLength(resources.length);
  expect(resourceOf('ConfigMap', built)['data']).toEqual({ 'config.yaml': 'customers: []\n' });
  expect(resourceOf('Secret', built)['data']).toEqual({
    riverside: Buffer.from('hunter2hunter2').toString('base64'),
    hillside: Buffer.from('hunter3hunter3').toString('base64'),
  });
  const [{ image }] = STATEFUL_SET.parse(resourceOf('StatefulSet', built)).spec.template.spec
    .containers;
  expect(image).toBe(`your-registry/library-stats-exporter:${VERSION}`);
});

/** Each patch, what must be in what it builds, and what must not. */
const PATCHED: Readonly<Record<string, readonly [there: readonly RegExp[], gone?: RegExp]>> = {
  'one shard': [[/--shard=auto\/1/, /"replicas":1/]],
  'kube-prometheus-stack': [[/("release":"kube-prometheus-stack".*){2}/]],
  OpenShift: [[], /runAsUser|runAsGroup|"fsGroup"/],
  'no volume': [[/"--storage\.path="/], /volumeClaimTemplates|"mountPath":"\/data"|=\/data/],
  TLS: [[/("scheme":"HTTPS".*){3}/, /"scheme":"https"/, /web\.yml/]],
};

test('the patches of docs/operations.md are all tested here', () => {
  expect(PATCHES.map(({ name }) => name)).toEqual(Object.keys(PATCHED));
});

test.each(PATCHES)('the patch of docs/operations.md for $name builds', ({ name, patches }) => {
  const [there = [], gone] = PATCHED[name] ?? [];
  const built = JSON.stringify(buildOverlay(`patches:\n${patches}`));
  for (const pattern of there) {
    expect(built).toMatch(pattern);
  }
  expect(gone?.exec(built) ?? null).toBeNull();
});

test('the rules are those of prometheus/rules', async () => {
  const groups = readdirSync(RULES)
    .toSorted()
    .flatMap((name) => {
      const text = readFileSync(join(RULES, name), 'utf8');
      return z.object({ groups: z.array(z.unknown()) }).parse(parse(text)).groups;
    });
  const rule = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: NAME, labels: LABELS },
    spec: { groups },
  };
  const text = `# Made of prometheus/rules by test/e2e/kubernetes.test.ts: change them there.\n${stringify(rule, { lineWidth: 0 })}`;
  await expect(text).toMatchFileSnapshot(join(FOLDER, 'prometheusrule.yaml'));
  expect(resourceOf('PrometheusRule', build())['spec']).toEqual({ groups });
});

test('there are as many pods as shards, and each is one of them', () => {
  const shard = container.args.find((arg) => arg.startsWith('--shard='))?.slice('--shard='.length);
  const { replicas } = statefulSet.spec;
  const pods = Array.from({ length: replicas }, (_, i) =>
    parseShard(shard ?? '', `${statefulSet.metadata.name}-${i}`),
  );
  expect(pods).toEqual(
    Array.from({ length: replicas }, (_, i) => ({ shard: i, shards: replicas })),
  );
});

test('whatever selects the pods does, and whatever is mounted is there', () => {
  const { spec } = statefulSet;
  expect(spec.template.metadata.labels).toEqual(LABELS);
  const selector = { matchLabels: LABELS };
  expect(spec['selector']).toEqual(selector);
  expect(resourceOf('PodDisruptionBudget')['spec']).toMatchObject({ selector });
  expect(resourceOf('PodMonitor')['spec']).toMatchObject({ selector });
  expect(resourceOf('NetworkPolicy')['spec']).toMatchObject({ podSelector: selector });
  expect(resourceOf('Service')['spec']).toMatchObject({ clusterIP: 'None', selector: LABELS });
  expect(spec.serviceName).toBe(resourceOf('Service').metadata.name);
  const volumes = [
    ...spec.template.spec.volumes.map(({ name }) => name),
    ...spec.volumeClaimTemplates.map(({ metadata }) => metadata.name),
  ];
  expect(container.volumeMounts.map(({ name }) => name).toSorted()).toEqual(volumes.toSorted());
  expect(spec.template.spec.volumes).toMatchObject([
    { configMap: { name: resourceOf('ConfigMap').metadata.name } },
    { secret: { secretName: resourceOf('Secret').metadata.name } },
  ]);
});

test('only the folder of the marks can be written to, as the image expects it', () => {
  const image = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  expect(image).toContain(`USER ${statefulSet.spec.template.spec.securityContext.runAsUser}:`);
  expect(image).toContain(`EXPOSE ${container.ports[0]?.containerPort}\n`);
  expect(container.volumeMounts.filter(({ readOnly }) => readOnly !== true)).toEqual([
    { name: 'data', mountPath: '/data' },
  ]);
  expect(container.args).toContain('--storage.path=/data');
});

describe('a pod', () => {
  let daemon: Daemon;

  beforeAll(async () => {
    const config = z.object({ 'config.yaml': z.string() }).parse(resourceOf('ConfigMap')['data']);
    const secrets = z.record(z.string(), z.string()).parse(resourceOf('Secret')['data']);
    for (const [name, value] of Object.entries(secrets)) {
      workspace.write(name, Buffer.from(value, 'base64').toString());
    }
    const folders = new Map(container.volumeMounts.map(({ name, mountPath }) => [name, mountPath]));
    function here(text: string): string {
      return text
        .replaceAll(folders.get('secrets') ?? '?', workspace.folder)
        .replaceAll(folders.get('config') ?? '?', workspace.folder)
        .replaceAll('=/data', `=${join(workspace.folder, 'data')}`)
        .replaceAll('=auto/', '=0/');
    }
    // Nobody answers there; the names of the example would be looked up.
    const offline = config['config.yaml'].replaceAll(/https:\/\/\S+/g, 'http://127.0.0.1:9');
    workspace.write('config.yaml', here(offline));
    const args = [...container.args.map(here), '--web.listen-address=127.0.0.1:0'];
    daemon = await launch(workspace, args).listening();
  });

  test('starts with its arguments, its configuration and its secrets', async () => {
    const scrape = await daemon.scrape();
    const shards = String(statefulSet.spec.replicas);
    expect(scrape.value('library_exporter_shard_info', { shard: '0', shards })).toBe(1);
  });

  test('is asked by probes and scrapes for paths that there are', async () => {
    const monitor = z
      .looseObject({
        podMetricsEndpoints: z.tuple([z.looseObject({ path: z.string(), port: z.string() })]),
      })
      .parse(resourceOf('PodMonitor')['spec']);
    const [{ path, port }] = monitor.podMetricsEndpoints;
    expect(container.ports.map(({ name }) => name)).toEqual([port]);
    const { startupProbe, readinessProbe, livenessProbe } = container;
    const probed = [startupProbe, readinessProbe, livenessProbe].map(({ httpGet }) => httpGet.path);
    for (const each of [...probed, path]) {
      expect([each, (await daemon.get(each)).status]).toEqual([each, 200]);
    }
  });
});
