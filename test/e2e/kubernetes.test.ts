/** What deploy/kubernetes builds fits the exporter. No cluster has run it. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { launch, Workspace } from '../acceptance/daemon.ts';
import { debianProgram, finished } from './support/processes.ts';

const FOLDER = fileURLToPath(new URL('../../deploy/kubernetes', import.meta.url));
const NAME = 'library-stats-exporter';

const RESOURCE = z.looseObject({
  kind: z.string(),
  metadata: z.object({ name: z.string() }),
  data: z.record(z.string(), z.string()).default({}),
});
const PROBE = z.object({ httpGet: z.object({ path: z.string(), port: z.literal('http') }) });
const CONTAINER = z.object({
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

const workspace = new Workspace();
afterAll(() => workspace.close());

test('a pod starts with its arguments, configuration and secrets, and serves its probes', async () => {
  const built = await finished(debianProgram('kubectl'), ['kustomize', FOLDER]);
  const resources = parseAllDocuments(built).map((document) => RESOURCE.parse(document.toJS()));
  /** Returns the resource of this kind that is not a dashboard. */
  function resourceOf(kind: string): z.infer<typeof RESOURCE> {
    const ofKind = resources.filter((one) => one.kind === kind);
    return RESOURCE.parse(ofKind.find(({ metadata }) => metadata.name === NAME));
  }
  const { replicas, template } = STATEFUL_SET.parse(resourceOf('StatefulSet')['spec']);
  const [container] = template.spec.containers;
  const [{ name, value }] = container.env;
  for (const [file, content] of Object.entries(resourceOf('Secret').data)) {
    workspace.write(file, Buffer.from(content, 'base64').toString());
  }
  /** Replaces the folders of the container by those of this test. */
  function here(text: string): string {
    const data = join(workspace.folder, 'data');
    return container.volumeMounts.reduce(
      (changed, { name: volume, mountPath }) =>
        changed.replaceAll(mountPath, volume === 'data' ? data : workspace.folder),
      // As Kubernetes expands it, in the first pod.
      text.replace(`--shard=auto/$(${name})`, `--shard=0/${value}`),
    );
  }
  const config = resourceOf('ConfigMap').data['config.yaml'] ?? '';
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
