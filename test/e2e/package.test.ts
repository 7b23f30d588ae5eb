/**
 * The package as somebody installs it: packed, installed in an empty folder outside of the repository,
 * and run from there. The registry must be reachable: what the package depends on comes from it.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { VERSION } from '../../src/cli/io.ts';
import { startDemo } from './support/demo.ts';
import { finished, outcomeOf } from './support/processes.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NAME = 'library-stats-exporter';
/** Version without long-term support on 2026-11-21, when that was 24; it is the next one. */
const NEXT_NODE = '26.10.0';

const folder = mkdtempSync(join(tmpdir(), 'package-'));
const user = join(folder, 'user');
const tarball = join(folder, `${NAME}-${VERSION}.tgz`);
const program = join(user, 'node_modules/.bin', NAME);
const BILL = z.object({
  bomFormat: z.literal('CycloneDX'),
  components: z.array(z.object({ name: z.string(), version: z.string() })),
});

beforeAll(async () => {
  await finished('npm', ['pack', `--pack-destination=${folder}`, ROOT]);
  await install(user, tarball);
  await install(join(folder, 'node'), `node@${NEXT_NODE}`);
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Installs in a folder where there is nothing else. Only the package that brings Node.js runs a script. */
async function install(where: string, what: string): Promise<void> {
  mkdirSync(where);
  writeFileSync(join(where, 'package.json'), JSON.stringify({ allowScripts: { node: true } }));
  await finished('npm', ['install', `--prefix=${where}`, '--no-audit', '--no-fund', what], where);
}

test('the package has what a user needs, and nothing that only we need', async () => {
  const files = (await finished('tar', ['-tzf', tarball])).trimEnd().split('\n');
  const parts = new Set(files.map((path) => path.replace(/^package\/([^/]+).*/, '$1')));
  expect([...parts].toSorted().join(' ')).toBe(
    'CHANGELOG.md LICENSE README.md SECURITY.md config.example.yaml deploy dist docs grafana package.json prometheus',
  );
  expect(files.filter((path) => path.endsWith('.ts'))).toEqual([]);
});

test('publint finds nothing that another tool would stumble over', async () => {
  const content = new Uint8Array(readFileSync(tarball)).buffer;
  const { messages } = await publint({ pack: { tarball: content }, strict: true });
  expect(messages).toEqual([]);
});

test('the bill of materials lists what the exporter depends on, and nothing of development', async () => {
  const { out } = await outcomeOf('npm', ['run', '--silent', 'sbom'], { cwd: ROOT });
  const { components } = BILL.parse(JSON.parse(out));
  for (const [name, version] of Object.entries(packageJson.dependencies)) {
    expect(components).toContainEqual(expect.objectContaining({ name, version }));
  }
  const names = components.map(({ name }) => name);
  // i18next takes a package called typescript from the tree as its optional peer, even for production.
  const development = ['typescript', ...Object.keys(packageJson.devDependencies)];
  expect(development.filter((name) => names.includes(name))).toEqual([]);
});

describe.each([
  [process.version, process.execPath],
  [`v${NEXT_NODE}`, join(folder, 'node/node_modules/node/bin/node')],
])('with Node.js %s', (version, node) => {
  /** Runs the program as a shell finds it: by its first line, and this Node.js first on the path. */
  function exporter(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    const path = [dirname(node), '/usr/bin', '/bin'].join(delimiter);
    return outcomeOf(program, args, { cwd: user, env: { ...env, PATH: path } });
  }

  test('--version and --help respond', async () => {
    expect(await finished(node, ['--version'])).toBe(`${version}\n`);
    const shown = `${NAME}, version ${VERSION} (revision: unknown, node: ${version})\n`;
    expect(await exporter(['--version'])).toMatchObject({ status: 0, output: shown });
    const help = await exporter(['--help']);
    expect(help).toMatchObject({ status: 0, error: '' });
    expect(help.out).toContain('backfill');
  });

  test('check is content with the example', async () => {
    const installed = join(user, 'node_modules', NAME);
    copyFileSync(join(installed, 'config.example.yaml'), join(user, 'config.yaml'));
    mkdirSync(join(user, 'secrets'), { recursive: true });
    for (const name of ['riverside', 'northern-jutland']) {
      writeFileSync(join(user, 'secrets', name), 'hunter2hunter2\n', { mode: 0o600 });
    }
    expect(await exporter(['check'], { HILLSIDE_SECRET: 'hunter3hunter3' })).toMatchObject({
      status: 0,
      output: expect.stringMatching(
        /^config\.yaml: good, 3 customers, [\d.]+ requests a minute\n$/,
      ) as string,
    });
  });

  test.each([
    ['query', ['peoplecount', '--customer=riverside']],
    ['backfill', ['--from=-1d', '--to=-1m', '--output=history']],
  ])('what %s loads when it begins is there', async (command, args) => {
    const { error } = await exporter([command, ...args, '--config.file=absent.yaml']);
    expect(error).toContain('absent.yaml');
  });

  test('demo counts five customers, and ends at SIGTERM', async () => {
    const demo = await startDemo([node, program]);
    const response = await fetch(`${demo.url}/metrics`);
    expect(await demo.stop()).toBe(0);
    const text = await response.text();
    expect(text).toContain(`version="${VERSION}"`);
    expect(text).toContain(`nodeversion="${version}"`);
  });
});
