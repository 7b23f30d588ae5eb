/** Each defence of SECURITY.md names a test that exists, and that runs before a release. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What `npm test` and `npm run test:e2e` run, and the test of the image. */
const RUN = /^test\/.+\.test\.ts$|^\.ci\/image$/;

interface Proof {
  readonly claim: string;
  readonly path: string;
  readonly title: string;
}

/** Returns what is wrong with the section on threats of a text, and the proofs that it names. */
function readThreats(text: string) {
  const problems: string[] = [];
  const proofs: Proof[] = [];
  const [, section = ''] = text.split(/^## Threats and defences$/m);
  const [, ...threats] = section.split(/^### /m);
  for (const threat of threats) {
    const [name = '', ...blocks] = threat.trim().split(/\n+(?=- |Residual risk: |\S)/);
    const claims = blocks.filter((block) => block.startsWith('- '));
    const [risk = '', ...others] = blocks.filter((block) => !block.startsWith('- '));
    if (claims.length === 0 || !risk.startsWith('Residual risk: ') || others.length > 0) {
      problems.push(`${name}: expected a list of defences and the residual risk, nothing else`);
    }
    for (const claim of claims) {
      const [, names = ''] = /: ((?:`[^`]+ › [^`]+`(?:, )?)+)$/.exec(claim) ?? [];
      const named = Array.from(names.matchAll(/`([^`]+?) › ([^`]+)`/g));
      if (named.length === 0) {
        problems.push(`${name}: no test for: ${claim}`);
      }
      proofs.push(...named.map(([, path = '', title = '']) => ({ claim, path, title })));
    }
  }
  return { problems, proofs };
}

/** Returns why a proof proves nothing; undefined for a test that exists and runs. */
function problemOf({ path, title }: Proof): string | undefined {
  if (!RUN.test(path) || !existsSync(join(ROOT, path))) {
    return `${path} is no test that runs`;
  }
  const source = readFileSync(join(ROOT, path), 'utf8');
  const joined = source.replaceAll(/\(\s+/g, '(');
  const isThere =
    path === '.ci/image'
      ? source.includes(`fail '${title}'`)
      : ["'", '"', '`'].some((quote) => joined.includes(`(${quote}${title}${quote},`));
  if (!isThere) {
    return `${path} has no test ${title}`;
  }
  return /\.(skip|todo|only|fails|skipIf|runIf)\b/.test(source) ? `${path} skips tests` : undefined;
}

test('each defence names a test, and each test exists', () => {
  const { problems, proofs } = readThreats(readFileSync(join(ROOT, 'SECURITY.md'), 'utf8'));
  expect([
    ...problems,
    ...proofs.map(problemOf).filter((problem) => problem !== undefined),
  ]).toEqual([]);
  expect(proofs.length).toBeGreaterThan(40);
});

const THREAT = '## Threats and defences\n\n### Guesses\n\n- locked: `test/a.test.ts › locks`\n\n';
const RISK = 'Residual risk: none known.\n';

test.each([
  [
    'a defence without a test',
    THREAT.replace(/: `.*`/, '') + RISK,
    'Guesses: no test for: - locked',
  ],
  ['no residual risk', THREAT, 'Guesses: expected a list of defences and the residual risk'],
  ['a defence in a sentence', `${THREAT}It is safe.\n\n${RISK}`, 'Guesses: expected a list'],
  ['no defence', `## Threats and defences\n\n### Guesses\n\n${RISK}`, 'Guesses: expected a list'],
])('%s is found', (_, text, problem) => {
  expect(readThreats(text).problems.join('\n')).toContain(problem);
});

test.each([
  ['test/web/none.test.ts', 'locks', 'is no test that runs'],
  ['src/main.ts', 'locks', 'is no test that runs'],
  ['test/web/auth.test.ts', 'locks', 'has no test locks'],
  ['test/web/auth.test.ts', 'compared', 'has no test compared'],
  ['.ci/image', 'the image is small', 'has no test the image is small'],
  [
    'test/web/auth.test.ts',
    'have a scheme in any case, and colons and any bytes in a password',
    undefined,
  ],
])('the proof %s › %s: %s', (path, title, problem) => {
  expect(problemOf({ claim: '', path, title })).toEqual(
    problem === undefined ? undefined : `${path} ${problem}`,
  );
});
