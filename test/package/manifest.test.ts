/** What package.json says, and what other files say of the same. */
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { PROJECTS } from '../vitest.config.ts';

const ROOT = new URL('../../', import.meta.url);

function read(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

const LOCKED = z.object({ integrity: z.string().optional() });
const LOCK = z
  .object({ packages: z.record(z.string(), LOCKED) })
  .parse(JSON.parse(read('package-lock.json')));

test('each dependency is pinned to one version', () => {
  const { dependencies, devDependencies } = packageJson;
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
  ['CHANGELOG.md', /^## (\S+)/m],
  ['README.md', /\.\/library-stats-exporter_([\d.]+)_amd64\.deb/],
  ['docs/debian.md', /\.\/library-stats-exporter_([\d.]+)_amd64\.deb/],
  ['deploy/kubernetes/kustomization.yaml', /newTag: (\S+)/],
  ['docs/kubernetes.md', /newTag: (\S+)/],
])('the version in %s is that of the package', (path, version) => {
  expect(version.exec(read(path))?.[1]).toBe(packageJson.version);
});

test('each folder of tests belongs to a project of npm test, or to the end-to-end tests', () => {
  const paths = readdirSync(new URL('test/', ROOT), { recursive: true, encoding: 'utf8' });
  const folders = paths
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => path.split('/', 1).join());
  const known = Object.values(PROJECTS).flatMap((names) => names.split(','));
  expect([...new Set(folders)].toSorted()).toEqual([...known, 'e2e'].toSorted());
});
