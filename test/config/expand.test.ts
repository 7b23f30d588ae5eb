import { expect, test } from 'vitest';
import { expand } from '../../src/config/expand.ts';
import { configWith, load, problemsOf } from './folder.ts';

test.each([
  ['a', 'a', false],
  ['${A}', 'one', true],
  ['x${A}y${B}z', 'xoneytwoz', true],
  ['$', '$', false],
  ['$5 and $A', '$5 and $A', false],
  ['$${A}', '${A}', false],
  ['$$${A}', '$${A}', false],
  ['$$', '$$', false],
  ['${NESTED}', '${A}', true],
  ['${EMPTY}', '', true],
])('%s is %s', (text, result, expanded) => {
  const environment = { A: 'one', B: 'two', NESTED: '${A}', EMPTY: '' };
  expect(expand(text, environment)).toEqual({ text: result, expanded, problem: undefined });
});

test.each([
  [
    '${NONE} ${A} ${NO} ${NONE}',
    'needs NONE, NO from the environment: set it, or write $${ for a literal ${',
  ],
  ['${', 'has a ${ without a name and }: write ${NAME}, or $${ for a literal ${'],
  ['${}', 'has a ${ without a name and }: write ${NAME}, or $${ for a literal ${'],
  ['${A-b}', 'has a ${ without a name and }: write ${NAME}, or $${ for a literal ${'],
  [
    '${constructor}',
    'needs constructor from the environment: set it, or write $${ for a literal ${',
  ],
])('%s is a problem', (text, problem) => {
  expect(expand(text, { A: 'one' }).problem).toBe(problem);
});

test('a value from the environment takes the type of its place, in quotes or not', async () => {
  const env = { CAP: '250', YES: 'true', PER: '7.5', FOR: '30s', ID: '0123' };
  const { config } = await load(
    {
      'config.yaml': configWith({
        service: 'allow_insecure: ${YES}\nmax_requests_per_second: "${PER}"\ntimeout: ${FOR}',
        customer: 'capacity: ${CAP}\nlabels: { cap: "${CAP}" }',
      }).replace('riverside-api', '${ID}'),
    },
    env,
  );
  expect(config.service).toMatchObject({
    allowInsecure: true,
    maxRequestsPerSecond: 7.5,
    timeoutMs: 30_000,
  });
  expect(config.customers[0]).toMatchObject({
    clientId: '0123',
    capacity: 250,
    labels: { cap: '250' },
  });
});

test('a value from the environment cannot add YAML', async () => {
  const value = 'a, capacity: 1 } # "\' [';
  const { config } = await load(
    { 'config.yaml': configWith({ customer: 'labels: { region: "${VALUE}" }' }) },
    { VALUE: value },
  );
  expect(config.customers[0]).toMatchObject({ labels: { region: value }, capacity: undefined });
});

test('an empty variable is no secret', async () => {
  const text = configWith({}).replace('hunter2hunter2', '${EMPTY}');
  expect(await problemsOf({ 'config.yaml': text }, { EMPTY: '' })).toBe(
    [
      'config.yaml:7:20: customers[0].client_secret: is empty: give the secret on one line, in quotes',
      '      client_secret: [redacted]',
      '                     ^^^^^^^^^^',
    ].join('\n'),
  );
});
