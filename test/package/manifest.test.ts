/** What package.json says, and what other files say of the same. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';

const ROOT = new URL('../../', import.meta.url);

function read(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

const PACKAGES = z.record(z.string(), z.string());
const MANIFEST = z
  .object({ version: z.string(), dependencies: PACKAGES, devDependencies: PACKAGES })
  .parse(JSON.parse(read('package.json')));

const LOCK = z
  .object({
    packages: z.record(
      z.string(),
      z.object({
        dev: z.boolean().optional(),
        integrity: z.string().optional(),
      }),
    ),
  })
  .parse(JSON.parse(read('package-lock.json')));

test('each dependency is pinned to one version', () => {
  const { dependencies, devDependencies } = MANIFEST;
  const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(
    ([, version]) => !/^(npm:[a-z]+@)?\d+\.\d+\.\d+$/.test(version),
  );
  expect(loose).toEqual([]);
});

test('each package has a checksum', () => {
  const { '': own, ...others } = LOCK.packages;
  expect(own).toBeDefined();
  const unchecked = Object.entries(others).filter(
    ([, { integrity = '' }]) => !integrity.startsWith('sha512-'),
  );
  expect(unchecked).toEqual([]);
});

test.each([
  ['Dockerfile', ['npm ci --ignore-scripts', 'npm prune --omit=dev --ignore-scripts']],
  [
    'docs/debian.md',
    // Node.js itself, where it does not come from a package source.
    [
      'npm install --global node@24',
      'npm ci --ignore-scripts',
      'npm ci --omit=dev --ignore-scripts --prefix /opt/library-stats-exporter',
    ],
  ],
])('%s installs without the scripts of packages', (path, commands) => {
  const found =
    read(path).match(/^(?:RUN )?.*\bnpm (?:ci|install|i|add|prune|rebuild)\b.*$/gm) ?? [];
  const parts = found.flatMap((line) => line.replace(/^RUN /, '').split(' && '));
  expect(parts.filter((part) => /^npm (?!run )/.test(part))).toEqual(commands);
});

test.each([
  ['CHANGELOG.md', /^## (\S+)/m],
  ['README.md', /\.\/library-stats-exporter-([\d.]+)\.tgz/],
  ['deploy/kubernetes/kustomization.yaml', /newTag: (\S+)/],
  ['docs/kubernetes.md', /newTag: (\S+)/],
])('the version in %s is that of the package', (path, version) => {
  expect(version.exec(read(path))?.[1]).toBe(MANIFEST.version);
});

// i18next takes a package called typescript from the tree as its optional peer, even for production.
test('TypeScript is not part of a production installation', () => {
  const { packages } = LOCK;
  expect(packages['node_modules/typescript']).toBeUndefined();
  expect(packages['node_modules/typescript-compiler']?.dev).toBe(true);
});
