/**
 * Bad configurations, one mistake each, with all that the program says to them, exactly. A case is
 * `testdata/corpus/SECTION/NAME.yaml` and `NAME.txt`; the folders `with` hold the other files that
 * they name. After a message was bettered, `vitest run … test/config/corpus.test.ts --update` writes the
 * texts anew: read the difference.
 */
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/base/errors.ts';
import { allKeys } from '../../src/config/keys.ts';
import { loadConfig } from '../../src/config/load.ts';

const CORPUS = fileURLToPath(new URL('testdata/corpus', import.meta.url));
const FILES = readdirSync(CORPUS, { recursive: true, encoding: 'utf8' }).filter(
  (name) => dirname(name) !== '.' && !name.includes('/with'),
);
const CASES = namesOf('.yaml');

/** Every secret of the corpus is of these words. */
const SECRETS = /correct|horse|battery|hunter|27182818/i;
const ENVIRONMENT = {
  EMPTY: '',
  REGION: 'region',
  SCOPE_KEY: 'scope',
  SECRET: 'correct-horse-battery',
  TWO_LINES: 'correct\nhorse-battery',
  ZONE: 'Europe/Copenhagn',
};

/** Kinds of mistakes that each key has a case of, but for those that it cannot have. */
const COUNTERS = ['type', 'range', 'spelling', 'twice', 'missing'];
const ANY_VALUE = ['service', 'polling', 'defaults', 'service.allow_insecure'];

function namesOf(ending: string): readonly string[] {
  return FILES.filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length))
    .toSorted();
}

/** What is printed for a case, with its folder left out of the names of files. */
async function problemsOf(name: string): Promise<string> {
  const path = join(CORPUS, `${name}.yaml`);
  try {
    await loadConfig({ path, env: ENVIRONMENT });
  } catch (error) {
    if (error instanceof ConfigError) {
      return error.message.replaceAll(`${dirname(path)}/`, '');
    }
    throw error;
  }
  return 'no problem';
}

describe('the corpus', () => {
  test('has both halves of every case', () => {
    expect(namesOf('.txt')).toEqual(CASES);
    expect(CASES.length).toBeGreaterThan(80);
  });

  test('has every kind of mistake of every key', () => {
    const missing = Array.from(allKeys(), ([path, { required }]) => {
      const [section, key] = path.includes('.') ? path.replace('[]', '').split('.') : ['top', path];
      return COUNTERS.filter((kind) => kind !== 'missing' || required === true)
        .filter((kind) => kind !== 'range' || !ANY_VALUE.includes(path))
        .map((kind) => `${section}/${key}-${kind}`);
    });
    expect(missing.flat().filter((name) => !CASES.includes(name))).toEqual([]);
  });
});

test.each(CASES)('%s', async (name) => {
  const problems = await problemsOf(name);
  expect(problems).not.toMatch(SECRETS);
  expect(problems).toMatch(/^\S+:\d+:\d+: .+: .+/);
  await expect(`${problems}\n`).toMatchFileSnapshot(join(CORPUS, `${name}.txt`));
});
