/**
 * AggregatedResponse the configuration again (CONTRACT, section 2): that nothing changes where the new one is bad,
 * nor by how it is asked for.
 */
import { describe, expect, test } from 'vitest';
import { customersOf, pollsOf, reloadOf, Reloads } from './reloads.ts';
import { expectNoSecret } from './world.ts';

const reloads = new Reloads();
const { service, workspace, steady, everybody } = reloads;

/** What a reload says; of a signal it is the log that tells, and there is no status of its own. */
async function reloadBy(way: 'SIGHUP' | 'POST' | 'PUT'): Promise<{ status: number; told: string }> {
  if (way !== 'SIGHUP') {
    const answer = await reloads.daemon.reload(way);
    return { status: answer.status, told: await answer.text() };
  }
  await reloads.hangUp();
  const said = reloads.daemon.logLines().findLast(({ level }) => level === 'error');
  return { status: 400, told: String(said?.['problems']) };
}

describe('a bad configuration', () => {
  const bad = `service:
  base_url: https://statistics.example.org
customers:
  - name: steady
    client_id: steady-api
    client_secret: [mellow-otter-biscuit]
    timezone: Europe/Copenhaguen
    colour: red
`;

  test.each(['SIGHUP', 'POST', 'PUT'] as const)(
    'changes nothing at %s, and all its problems are told without a secret',
    async (way) => {
      const before = await reloads.daemon.scrape();
      workspace.write('config.yaml', bad);
      const { status, told } = await reloadBy(way);
      expect(status).toBe(400);
      for (const [line, path] of [
        [2, 'service.auth_url'],
        [6, 'customers[0].client_secret'],
        [7, 'customers[0].timezone'],
        [8, 'customers[0].colour'],
      ] as const) {
        const pattern = String.raw`config\.yaml:${line}:\d+: ${path.replaceAll(/[.[\]]/g, '.')}: `;
        expect(told).toMatch(new RegExp(pattern));
      }
      for (const part of ['mellow', 'otter', 'biscuit']) {
        expect(told + reloads.daemon.stderr + reloads.daemon.stdout).not.toContain(part);
      }
      const after = await reloads.daemon.scrape();
      expect(reloadOf(after)).toEqual([0, reloadOf(before)[1]]);
      expect(customersOf(after)).toEqual(customersOf(before));
      steady.ledger.add('people', { in: 1 });
      expect((await reloads.daemon.get('/-/ready')).status).toBe(200);
      await reloads.expectExact(...everybody);
    },
  );

  test('is forgotten with the next good one', async () => {
    workspace.write('config.yaml', bad);
    expect((await reloads.daemon.reload()).status).toBe(400);
    const [, badAt = NaN] = reloadOf(await reloads.daemon.scrape());
    reloads.write(everybody);
    expect((await reloads.daemon.reload()).status).toBe(200);
    const [successful, goodAt] = reloadOf(await reloads.daemon.scrape());
    expect(successful).toBe(1);
    expect(goodAt).toBeGreaterThan(badAt);
  });

  test('may also be one that is not there any more', async () => {
    const answer = await reloads.daemon.reload();
    expect(answer.status).toBe(200);
    workspace.write('config.yaml', '');
    expect((await reloads.daemon.reload()).status).toBe(400);
    expect(customersOf(await reloads.daemon.scrape())).toEqual(['changing', 'leaving', 'steady']);
  });
});

test('fifty reloads at once are all answered, share few reloads, and change nothing', async () => {
  const before = await reloads.daemon.scrape();
  const saidBefore = reloads.reloadsSaid();
  const answers = await Promise.all(
    Array.from({ length: 50 }, async () => reloads.daemon.reload()),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  // Requests that arrive during a reload share the next one.
  expect(reloads.reloadsSaid() - saidBefore).toBeLessThan(50);
  const after = await reloads.expectExact(...everybody);
  expect(pollsOf(after, 'steady')).toBeGreaterThanOrEqual(pollsOf(before, 'steady'));
});

test('a reload that was asked for during another one reads what was written before it', async () => {
  const first = reloads.daemon.reload();
  reloads.write([steady]);
  const second = reloads.daemon.reload();
  expect([(await first).status, (await second).status]).toEqual([200, 200]);
  expect(customersOf(await reloads.daemon.scrape())).toEqual(['steady']);
});

test('GET does not reload', async () => {
  const answer = await reloads.daemon.reload('GET');
  expect(answer.status).toBe(405);
  expect(answer.headers.get('allow')).toBe('POST, PUT');
});

test('no counter fell in all of it but the polls of those that were changed, and nothing said a secret', async () => {
  expect(await reloads.falls()).toEqual([]);
  expect(reloads.monitor.scrapes).toBeGreaterThan(10);
  expect(service.violations).toEqual([]);
  await expectNoSecret(reloads.daemon, service);
});
