/** What can be said of the workflows for GitHub without GitHub: that they fit the repository. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = join(ROOT, '.github/workflows');

const STEP = z.strictObject({
  name: z.string().optional(),
  uses: z.string().optional(),
  with: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  run: z.string().optional(),
  env: z.record(z.string(), z.string()).optional(),
});
const JOB = z.strictObject({
  needs: z.string().optional(),
  uses: z.string().optional(),
  'runs-on': z.literal('ubuntu-latest').optional(),
  'timeout-minutes': z.number().optional(),
  container: z.string().optional(),
  permissions: z.record(z.string(), z.enum(['read', 'write'])).optional(),
  steps: z.array(STEP).default([]),
});
const WORKFLOW = z.strictObject({
  name: z.string(),
  on: z.record(z.string(), z.unknown()),
  permissions: z.strictObject({ contents: z.literal('read') }),
  jobs: z.record(z.string(), JOB),
});

function textOf(name: string): string {
  return readFileSync(join(FOLDER, name), 'utf8');
}

function workflow(name: string): z.infer<typeof WORKFLOW> {
  return WORKFLOW.parse(parse(textOf(name)));
}

describe.each(readdirSync(FOLDER))('%s', (name) => {
  const { jobs } = workflow(name);
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  const scripts = steps.flatMap(({ run }) => run ?? []);

  test('says at its top that it was not run', () => {
    expect(textOf(name)).toMatch(/^# NOT RUN /);
  });

  test('calls scripts and commands that are there', () => {
    const own = scripts.flatMap((script) => script.match(/(?<![\w/])\.ci\/\w+/g) ?? []);
    own.forEach((path) => accessSync(join(ROOT, path), constants.X_OK));
    const npm = scripts.flatMap((script) =>
      Array.from(script.matchAll(/npm run (?:--silent )?([\w:]+)/g), ([, script = '']) => script),
    );
    expect(npm.filter((script) => !Object.hasOwn(packageJson.scripts, script))).toEqual([]);
    expect([...own, ...npm]).not.toEqual([]);
  });

  test('every step is a command that bash understands, or an action pinned to a major version', () => {
    for (const script of scripts) {
      execFileSync('bash', ['-n', '-c', script]);
    }
    const actions = steps.filter(({ run }) => run === undefined).map(({ uses }) => uses);
    expect(actions).toEqual(actions.map(() => expect.stringMatching(/^actions\/[\w-]+@v\d+$/)));
    for (const { uses, steps: own, needs } of Object.values(jobs)) {
      expect(uses === undefined ? own.length > 0 : existsSync(join(ROOT, uses))).toBe(true);
      expect(needs === undefined || Object.hasOwn(jobs, needs)).toBe(true);
    }
  });

  test('runs on the Node.js that package.json asks for', () => {
    const [least] = /\d+/.exec(packageJson.engines.node) ?? [];
    const versions = Object.values(jobs).flatMap(({ container, steps: own }) => [
      ...(container === undefined ? [] : [/^node:(\d+)-/.exec(container)?.[1]]),
      ...own.flatMap((step) => step.with?.['node-version'] ?? []).map(String),
    ]);
    expect(new Set(versions)).toEqual(new Set([least]));
  });
});

test('a release has passed everything that a change must pass', () => {
  const { jobs } = workflow('release.yml');
  expect(jobs['test']?.uses).toBe('./.github/workflows/test.yml');
  expect(jobs['package']?.needs).toBe('test');
  expect(jobs['image']?.needs).toBe('package');
  expect(workflow('test.yml').on).toHaveProperty('workflow_call');
});

test('the image is built for both machines, with every argument that the Dockerfile takes', () => {
  const steps = workflow('release.yml').jobs['image']?.steps ?? [];
  const build = steps.at(-1)?.run ?? '';
  expect(build).toContain('--platform=linux/amd64,linux/arm64 ');
  const given = Array.from(build.matchAll(/--build-arg=(\w+)=/g), ([, name]) => name);
  const taken = Array.from(
    readFileSync(join(ROOT, 'Dockerfile'), 'utf8').matchAll(/^ARG (\w+)=unknown$/gm),
    ([, name]) => name,
  );
  expect(given).toEqual(taken);
});

test.each([
  ['v2.3.4', '## 2.3.4 / 2027-01-31', 0],
  ['v2.3.5', '## 2.3.4 / 2027-01-31', 1],
  ['v2.3.4', '## 2.3.4 / unreleased', 1],
  ['v2.3.4', '## 2.3.3 / 2027-01-30', 1],
])('the tag %s of version 2.3.4 with "%s" in the changelog: status %i', (tag, heading, status) => {
  const steps = workflow('release.yml').jobs['package']?.steps ?? [];
  const script = steps.find(({ name }) => name?.startsWith('the tag'))?.run ?? '';
  const cwd = mkdtempSync(join(tmpdir(), 'release-'));
  writeFileSync(join(cwd, 'package.json'), '{ "version": "2.3.4" }');
  writeFileSync(join(cwd, 'CHANGELOG.md'), `# Changelog\n\n${heading}\n`);
  // As GitHub runs a step.
  const { status: ended } = spawnSync('bash', ['-e', '-c', script], {
    cwd,
    env: { ...process.env, GITHUB_REF_NAME: tag },
  });
  rmSync(cwd, { recursive: true });
  expect(ended).toBe(status);
});
