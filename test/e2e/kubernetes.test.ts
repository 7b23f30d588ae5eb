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

const DATA = z.object({ data: z.record(z.string(), z.string()) });
const CONTAINER = z.object({
  args: z.array(z.string()),
  env: z.tuple([z.object({ name: z.literal('SHARDS'), value: z.string() })]),
  ports: z.tuple([z.object({ name: z.literal('http') })]),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
});
const POD = z.object({ spec: z.object({ containers: z.tuple([CONTAINER]) }) });
const STATEFUL_SET = z.object({ spec: z.object({ replicas: z.number(), template: POD }) });
const PROBE = /httpGet:\n +path: (\S+)\n +port: http\n/g;

const workspace = new Workspace();
afterAll(() => workspace.close());

test('a pod starts with its arguments, configuration and secrets, and serves its probes', async () => {
  const built = await finished(debianProgram('kubectl'), ['kustomize', FOLDER]);
  const resources = parseAllDocuments(built);
  /** Returns the resource of this kind that is not a dashboard. */
  function resourceOf(kind: string): unknown {
    const ofKind = resources.filter((one) => one.get('kind') === kind);
    return ofKind.find((one) => one.getIn(['metadata', 'name']) === NAME)?.toJS();
  }
  const { replicas, template } = STATEFUL_SET.parse(resourceOf('StatefulSet')).spec;
  const [container] = template.spec.containers;
  const [{ name, value }] = container.env;
  for (const [file, content] of Object.entries(DATA.parse(resourceOf('Secret')).data)) {
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
  const config = DATA.parse(resourceOf('ConfigMap')).data['config.yaml'] ?? '';
  // Nobody responds there; the names of the example would be looked up.
  const offline = config.replaceAll(/https:\/\/\S+/g, 'http://127.0.0.1:9');
  workspace.write('config.yaml', here(offline));
  const args = [...container.args.map(here), '--web.listen-address=127.0.0.1:0'];
  const daemon = await launch(workspace, args).listening();
  const shard = { shard: '0', shards: String(replicas) };
  expect(await daemon.value('library_exporter_shard_info', shard)).toBe(1);
  const probes = Array.from(built.matchAll(PROBE), ([, path = '']) => path);
  expect(probes).toHaveLength(3);
  for (const path of probes) {
    expect([path, (await daemon.get(path)).status]).toEqual([path, 200]);
  }
});
