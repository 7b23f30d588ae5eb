/** What package.json says, and what other files say of the same. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

const ROOT = new URL('../../', import.meta.url);

function read(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

const PACKAGES = z.record(z.string(), z.string());
const MANIFEST = z
  .object({ version: z.string(), dependencies: PACKAGES, devDependencies: PACKAGES })
  .parse(JSON.parse(read('package.json')));

/** The packages in the table under a heading of docs/dependencies.md, with the reason of each. */
function listed(heading: string): readonly (readonly [name: string, reason: string])[] {
  const [, section = ''] = read('docs/dependencies.md').split(`## ${heading}\n`);
  const table = section.split('\n## ')[0] ?? '';
  return Array.from(
    table.matchAll(/^\| `([^`]+)` +\| (.+?) *\|$/gm),
    ([, name = '', reason = '']) => [name, reason],
  );
}

describe.each([
  ['At run time', MANIFEST.dependencies],
  ['For development', MANIFEST.devDependencies],
])('dependencies: %s', (heading, packages) => {
  test('each has its reason in docs/dependencies.md, in the same order, and no other is there', () => {
    expect(listed(heading).map(([name]) => name)).toEqual(Object.keys(packages));
    expect(listed(heading).filter(([, reason]) => !/\w{3}/.test(reason))).toEqual([]);
  });

  test('each is pinned to one version', () => {
    const loose = Object.entries(packages).filter(
      ([, version]) => !/^(npm:[a-z]+@)?\d+\.\d+\.\d+$/.test(version),
    );
    expect(loose).toEqual([]);
  });
});

test('the newest entry of the changelog is of this version', () => {
  expect(/^## (\S+)/m.exec(read('CHANGELOG.md'))?.[1]).toBe(MANIFEST.version);
});

test('the package that the README installs is of this version', () => {
  expect(read('README.md')).toContain(`./library-stats-exporter-${MANIFEST.version}.tgz`);
});

test.each(['deploy/kubernetes/kustomization.yaml', 'docs/operations.md'])(
  'the image that %s names is of this version',
  (path) => {
    expect(/newTag: (\S+)/.exec(read(path))?.[1]).toBe(MANIFEST.version);
  },
);

// i18next takes a package called typescript from the tree as its optional peer, even for production.
test('TypeScript is not part of a production installation', () => {
  const { packages } = z
    .object({ packages: z.record(z.string(), z.object({ dev: z.boolean().optional() })) })
    .parse(JSON.parse(read('package-lock.json')));
  expect(packages['node_modules/typescript']).toBeUndefined();
  expect(packages['node_modules/typescript-compiler']?.dev).toBe(true);
});
