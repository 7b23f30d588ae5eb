/** What `npm run acceptance` says about simulated services whose conventions are known, and about secrets. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { ALWAYS_OPEN } from '../../src/simulator/libraries.ts';
import { SECRET, startEnvironment, ZONE } from '../cli/simulated-environment.ts';
import { partsIn } from '../support/disguises.ts';
import { LedgerService } from './ledger-service.ts';

const MAIN = fileURLToPath(new URL('service/main.ts', import.meta.url));
const LIBRARY = {
  opening: ALWAYS_OPEN,
  quietHours: 0.8,
  visitsPerDay: 4_000,
  branches: [
    { id: 101, name: 'Main' },
    { id: 102, name: 'North' },
  ],
};

/** Runs the command. The environment is nothing but this. */
async function ran(url: string, secret: string, changes: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [MAIN], {
    env: {
      ACCEPTANCE_SERVICE: url,
      ACCEPTANCE_CLIENT_ID: 'lone-api',
      ACCEPTANCE_CLIENT_SECRET: secret,
      ACCEPTANCE_TIMEZONE: ZONE,
      ACCEPTANCE_PAUSE_MS: '0',
      ...changes,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { out, err, code: code as unknown };
}

const CASES: readonly (readonly [string, Partial<Conventions>, readonly RegExp[]])[] = [
  [
    'the likeliest conventions',
    {},
    [
      /^3\. .*\n {3}`from` excludes its edge, `to` excludes it; .* count nobody twice and leave nobody out$/m,
      /^4\. .*\n {3}`localTime` or `clientTime` counts$/m,
      /^10\. .*\n {3}windows of `day` are as requested; windows of `quarter` are as requested$/m,
      /^14\. .*\n {3}without a token: 401 .*; `aggregation` with `limit`: 400 .*; an unknown aggregation: 400/m,
      /^16\. .*\n {3}the `key` of a branch is a number$/m,
      /^windows of branches: .* add up for all 2 branches; all of them have/m,
    ],
  ],
  [
    'whole minutes with both edges, times without a zone, and windows of whole buckets',
    {
      fromEdge: 'inclusive',
      toEdge: 'inclusive',
      resolutionMs: 60_000,
      recordTimes: 'none',
      windowTime: 'server',
      window: 'whole buckets',
      groupKey: 'string',
      missingTokenStatus: 403,
    },
    [
      /^3\. .*\n {3}`from` includes its edge, `to` includes it; .* include both edges: [1-9]\d* are counted twice$/m,
      /^4\. .*\n {3}`serverTime` counts$/m,
      /^10\. .*\n {3}windows of `day` are widened: .*; windows of `quarter` are widened: /m,
      /^14\. .*\n {3}without a token: 403 /m,
      /^16\. .*\n {3}the `key` of a branch is a text$/m,
      // The minute between the halves is in both.
      /^windows of branches: .* do not add up for [12] of 2 branches; /m,
    ],
  ],
];

test.concurrent.each(CASES)('a service with %s', async (_, conventions, learned) => {
  await using environment = await startEnvironment({ lone: { library: LIBRARY } }, conventions, {
    historyMs: 8 * 86_400_000,
  });
  const { out, err, code } = await ran(environment.url, SECRET);
  expect({ err, code }).toEqual({ err: '', code: 0 });
  for (const pattern of learned) {
    expect(out).toMatch(pattern);
  }
});

test('secrets are not shown, whether the service repeats or refuses them', async () => {
  const service = new LedgerService();
  await service.start();
  onTestFinished(() => service.stop());
  const customer = service.addCustomer('lone', ZONE);
  let shown = '';
  for (const fault of ['echo in the rows', 'echo in the headers'] as const) {
    service.fail(customer, fault);
    const { out, err } = await ran(service.url, customer.secret);
    expect(out + err).not.toBe('');
    shown += out + err;
  }
  const { err, code } = await ran(service.url, SECRET);
  expect([code, err]).toEqual([1, expect.stringContaining('refuses the credentials: status 400')]);
  const address = { ACCEPTANCE_AUTH_URL: `https://u:${SECRET}@x.example.org` };
  const refused = await ran('http://127.0.0.1:1', SECRET, address);
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toContain('ACCEPTANCE_AUTH_URL: expected');
  expect(partsIn(shown + err + refused.err, [SECRET, ...service.secrets()])).toEqual([]);
});
