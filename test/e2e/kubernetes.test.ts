/**
 * What deploy/kubernetes and the overlay of docs/kubernetes.md build, and that its parts fit the exporter. No
 * cluster has run it.
 */
import { readFileSync, realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { parseShard } from '../../src/cli/run.ts';
import { VERSION } from '../../src/cli/io.ts';
import { launch, Workspace } from '../acceptance/daemon.ts';
import { debianProgram, run } from './support/processes.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = join(ROOT, 'deploy/kubernetes');
const NAME = 'library-stats-exporter';

const RESOURCE = z.looseObject({
  kind: z.string(),
  metadata: z.object({ name: z.string(), namespace: z.string().optional() }),
  data: z.record(z.string(), z.string()).default({}),
});
const PROBE = z.object({ httpGet: z.object({ path: z.string(), port: z.literal('http') }) });
const CONTAINER = z.object({
  image: z.string(),
  args: z.array(z.string()),
  env: z.tuple([z.object({ name: z.literal('SHARDS'), value: z.string() })]),
  ports: z.tuple([z.object({ name: z.literal('http'), containerPort: z.number() })]),
  startupProbe: PROBE,
  readinessProbe: PROBE,
  livenessProbe: PROBE,
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
});
const STATEFUL_SET = z.object({
  replicas: z.number(),
  template: z.object({ spec: z.object({ containers: z.tuple([CONTAINER]) }) }),
});

type Resource = z.infer<typeof RESOURCE>;

const workspace = new Workspace();
afterAll(() => workspace.close());

function build(folder: string): readonly Resource[] {
  const { status, output } = run(debianProgram('/usr/bin/kubectl'), ['kustomize', folder]);
  expect([status, output]).toEqual([0, expect.stringContaining('kind: StatefulSet')]);
  return parseAllDocuments(output).map((document) => RESOURCE.parse(document.toJS()));
}

/** Returns the resource of this kind that is not a dashboard. */
function resourceOf(kind: string, among: readonly Resource[]): Resource {
  return RESOURCE.parse(among.find((one) => one.kind === kind && one.metadata.name === NAME));
}

/** Returns how many pods there are, and the container of each. */
function podsOf(among: readonly Resource[]) {
  const { replicas, template } = STATEFUL_SET.parse(resourceOf('StatefulSet', among)['spec']);
  const [container] = template.spec.containers;
  const [{ name, value }] = container.env;
  const [, flag = ''] = /--shard=(\S+)/.exec(container.args.join(' ')) ?? [];
  // As Kubernetes expands it.
  return { replicas, container, shardFlag: flag.replace(`$(${name})`, value) };
}

test('the overlay of docs/kubernetes.md has its own image, files and number of shards', () => {
  const docs = readFileSync(join(ROOT, 'docs/kubernetes.md'), 'utf8');
  const [, overlay = ''] = /```yaml\n(# kustomization\.yaml\n[^`]+)```/.exec(docs) ?? [];
  const text = overlay
    .replace('../library-stats-exporter/deploy/kubernetes', () =>
      relative(realpathSync(workspace.folder), FOLDER),
    )
    .replace('count: 1', 'count: 3');
  workspace.write('kustomization.yaml', text);
  workspace.write('config.yaml', 'customers: []\n');
  workspace.write('riverside', 'hunter2');
  workspace.write('hillside', 'hunter3');
  const built = build(workspace.folder);
  const namespaces = built.flatMap(({ metadata }) => metadata.namespace ?? []);
  expect(new Set(namespaces)).toEqual(new Set(['library-stats']));
  expect(resourceOf('ConfigMap', built).data).toEqual({ 'config.yaml': 'customers: []\n' });
  expect(resourceOf('Secret', built).data).toEqual({
    riverside: Buffer.from('hunter2').toString('base64'),
    hillside: Buffer.from('hunter3').toString('base64'),
  });
  const { replicas, container, shardFlag } = podsOf(built);
  expect(container.image).toBe(`your-registry/library-stats-exporter:${VERSION}`);
  const hosts = Array.from({ length: replicas }, (_, pod) => `${NAME}-${pod}`);
  expect(hosts.map((host) => parseShard(shardFlag, host))).toEqual(
    [0, 1, 2].map((shard) => ({ shard, shards: 3 })),
  );
});

test('a pod starts with its arguments, configuration and secrets, and serves its probes', async () => {
  const resources = build(FOLDER);
  const { container, replicas, shardFlag } = podsOf(resources);
  for (const [name, value] of Object.entries(resourceOf('Secret', resources).data)) {
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
      .replace(/(?<=--shard=).+/, shardFlag.replace('auto', '0'));
  }
  const config = resourceOf('ConfigMap', resources).data['config.yaml'] ?? '';
  // Nobody responds there; the names of the example would be looked up.
  const offline = config.replaceAll(/https:\/\/\S+/g, 'http://127.0.0.1:9');
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
