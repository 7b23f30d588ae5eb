/** The workflows and the update bot, which only GitHub runs: what they depend on, and what they may do. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { PROJECTS } from '../vitest.config.ts';

const ROOT = new URL('../../.github/', import.meta.url);
const FILES = readdirSync(new URL('workflows', ROOT)).map((name) => `workflows/${name}`);

function read(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

const WORKFLOW = z.object({
  permissions: z.object({ contents: z.literal('read') }),
  on: z.looseObject({ schedule: z.array(z.object({ cron: z.string() })).optional() }),
  jobs: z.record(z.string(), z.looseObject({ permissions: z.looseObject({}).optional() })),
});

test.each(FILES)('%s names the actions of others by commit, with their version', (path) => {
  const used = Array.from(read(path).matchAll(/uses: (?!\.\/)(.+)/g), ([, action]) => action);
  expect(used).not.toEqual([]);
  const loose = used.filter(
    (action) => !/^[\w-]+\/[\w-]+@[\da-f]{40} # v[\d.]+$/.test(`${action}`),
  );
  expect(loose).toEqual([]);
});

test.each(FILES)('%s may only read, unless a job says otherwise', (path) => {
  expect(() => WORKFLOW.parse(parse(read(path)))).not.toThrow();
});

test('a release is published without a token, by a job that can sign', () => {
  const text = read('workflows/release.yml');
  expect(text).not.toMatch(/NPM_TOKEN|NODE_AUTH_TOKEN|secrets\./);
  const { jobs } = WORKFLOW.parse(parse(text));
  const signing = { 'id-token': 'write', attestations: 'write' };
  expect(jobs).toMatchObject({
    package: { permissions: signing },
    image: { permissions: signing },
  });
});

test('a release needs every test, and nothing lets it go on without', () => {
  const [release, testing] = ['release', 'test'].map((name) => read(`workflows/${name}.yml`));
  const { jobs } = WORKFLOW.parse(parse(release ?? ''));
  expect(jobs).toMatchObject({
    test: { uses: './.github/workflows/test.yml' },
    package: { needs: 'test' },
    image: { needs: 'package' },
  });
  expect(WORKFLOW.parse(parse(testing ?? '')).jobs['everything']).toMatchObject({
    steps: [{}, { run: '.ci/run' }],
  });
  expect(`${release}${testing}`).not.toMatch(/^ *-? *(if|continue-on-error):/m);
  const commands = readFileSync(new URL('../.ci/run', ROOT), 'utf8');
  expect(commands).toContain('\nset -euo pipefail\n');
  for (const command of [
    "tests 'npm test' npm test",
    "tests 'end to end: notifications' npm run test:e2e -- test/e2e/notifications.test.ts",
    "tests 'end to end' npm run test:e2e -- --exclude test/e2e/notifications.test.ts",
    'start image .ci/image',
    "check 'container image' ended image",
  ]) {
    expect(commands).toContain(`\n${command}\n`);
  }
  expect(JSON.parse(readFileSync(new URL('../package.json', ROOT), 'utf8'))).toMatchObject({
    scripts: {
      test: 'vitest run --config test/vitest.config.ts',
      'test:e2e': 'vitest run --config test/e2e/vitest.config.ts',
    },
  });
});

test('each folder of tests belongs to a project of npm test, or to the end-to-end tests', () => {
  const tests = new URL('../', import.meta.url);
  const folders = readdirSync(tests, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .map((path) => path.split('/', 1).join());
  const known = Object.values(PROJECTS).flatMap((names) => names.split(','));
  expect([...new Set(folders)].toSorted()).toEqual([...known, 'e2e'].toSorted());
});

test('the scan runs once a week', () => {
  const { on } = WORKFLOW.parse(parse(read('workflows/scan.yml')));
  expect(on.schedule?.map(({ cron }) => cron)).toEqual([
    expect.stringMatching(/^\d+ \d+ \* \* [0-6]$/),
  ]);
});

test('the update bot pins actions and images', () => {
  expect(JSON.parse(read('renovate.json'))).toMatchObject({ extends: ['config:best-practices'] });
});
