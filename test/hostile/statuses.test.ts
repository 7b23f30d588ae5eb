/** Statuses other than 200, and redirects: at /metrics, with their reason. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { FailureReason } from '../../src/base/errors.ts';
import { body, reply } from './support/bytes.ts';
import { failuresOf, upOf } from './support/figures.ts';
import type { Endpoint } from './support/hostile-service.ts';
import { answering, DATA, suffers } from './support/suffer.ts';
import { expectWell, World } from './support/world.ts';

const TOKEN: readonly Endpoint[] = ['token'];

describe('the status', () => {
  test.for<[number | string, FailureReason]>([
    ['000', 'rejected'],
    ['099', 'rejected'],
    [201, 'rejected'],
    [202, 'rejected'],
    [203, 'rejected'],
    [206, 'rejected'],
    [300, 'rejected'],
    [400, 'rejected'],
    [401, 'auth'],
    [403, 'auth'],
    [404, 'rejected'],
    [405, 'rejected'],
    [406, 'rejected'],
    [407, 'rejected'],
    [408, 'timeout'],
    [409, 'rejected'],
    [410, 'rejected'],
    [413, 'rejected'],
    [418, 'rejected'],
    [425, 'rejected'],
    [429, 'rate_limited'],
    [451, 'rejected'],
    [499, 'rejected'],
    [500, 'server'],
    [501, 'server'],
    [502, 'server'],
    [503, 'server'],
    [504, 'server'],
    [507, 'server'],
    [520, 'server'],
    [599, 'server'],
    [600, 'server'],
    [999, 'server'],
  ])('%s is the reason %s', async ([status, reason]) => {
    // With the good answer as its body: it is the status that decides.
    expect(
      await suffers({ reason, ...answering(reply(status, { body: ({ good }) => good })) }),
    ).toEqual([]);
  });

  test.for([204, 205, 304])('%s, which has no body, is the reason rejected', async (status) => {
    const length = status === 205 ? '0' : undefined;
    const headers = { 'content-length': length, 'content-type': undefined };
    expect(
      await suffers({ reason: 'rejected', ...answering(reply(status, { headers, body: '' })) }),
    ).toEqual([]);
  });
});

describe('401', () => {
  test('once costs a token and no poll', async () => {
    await using world = await World.create();
    await world.start();
    world.visit();
    world.service.misbehave(DATA, reply(401), { times: 1 });
    await world.turn();
    await expectWell(world);
    expect(world.service.tokens).toHaveLength(2);
    expect(failuresOf(await world.scrape())).toEqual([]);
  });

  test('at every question asks for two tokens a poll, and not for ever more', async () => {
    await using world = await World.create();
    await world.start();
    world.service.misbehave(DATA, reply(401));
    await world.turns(20);
    expect(upOf(await world.scrape())).toEqual([0, 0]);
    expect(world.service.tokens.length).toBeLessThanOrEqual(1 + 20 * 2 * 2);
    world.service.heal();
    await world.turn();
    await expectWell(world);
    expect(await world.leaks()).toEqual([]);
  });
});

describe('a redirect', () => {
  const statuses = [301, 302, 303, 307, 308];

  test.for(statuses.flatMap((status) => [[status, DATA] as const, [status, TOKEN] as const]))(
    '%i of %s takes nothing anywhere',
    async ([status, endpoints]) => {
      let connections = 0;
      const elsewhere = createServer((socket) => {
        connections += 1;
        socket.destroy();
      });
      elsewhere.listen(0, '127.0.0.1');
      await once(elsewhere, 'listening');
      const address = elsewhere.address();
      const port = typeof address === 'object' ? address?.port : undefined;
      let asked = 0;
      try {
        const location = `http://127.0.0.1:${port}/v1/peoplecount`;
        const headers = {
          location,
          'content-location': location,
          refresh: `0; url=${location}`,
          link: `<${location}>; rel="preload"`,
          'alt-svc': `http/1.1="127.0.0.1:${port}"; ma=3600`,
        };
        const behave = reply(status, { headers });
        expect(await suffers({ reason: 'rejected', ...answering(behave, endpoints) })).toEqual([]);
        expect(
          await suffers({
            reason: 'rejected',
            begin({ service }) {
              service.revoke();
              service.misbehave(endpoints, reply(status, { headers: { location: '/elsewhere' } }));
            },
            end({ service }) {
              asked += service.heard.length;
              expect(service.heard.filter(({ path }) => path === '/elsewhere')).toEqual([]);
            },
          }),
        ).toEqual([]);
      } finally {
        elsewhere.close();
        await once(elsewhere, 'close');
      }
      expect(asked).toBeGreaterThan(0);
      expect(connections).toBe(0);
    },
  );
});

describe('the token endpoint', () => {
  test.for<[number, FailureReason]>([
    [201, 'rejected'],
    [204, 'rejected'],
    [404, 'rejected'],
    [405, 'rejected'],
    [408, 'timeout'],
    [429, 'rate_limited'],
    [500, 'server'],
    [503, 'server'],
  ])('that answers %i is the reason %s', async ([status, reason]) => {
    const headers = status === 204 ? { 'content-length': undefined } : {};
    const content = status === 204 ? { body: '' } : {};
    const behave = reply(status, { headers, ...content });
    expect(await suffers({ reason, ...answering(behave, TOKEN) })).toEqual([]);
  });

  test.for([400, 401, 403])(
    'that refuses the credentials with %i is the reason auth, until it takes them',
    async (status) => {
      const refusal = reply(status, { body: '{"error":"invalid_client"}' });
      expect(
        await suffers({ reason: 'auth', recoversAfter: 2, ...answering(refusal, TOKEN) }),
      ).toEqual([]);
    },
  );

  test('that refuses in words that hold the secret is not quoted', async () => {
    const refusal = reply(400, { body: ({ echo }) => JSON.stringify({ error: echo }) });
    expect(
      await suffers({ reason: 'auth', recoversAfter: 2, ...answering(refusal, TOKEN) }),
    ).toEqual([]);
  });

  test('that refuses is not asked at every poll, and the gauge says so', async () => {
    await using world = await World.create();
    world.service.misbehave(TOKEN, reply(400, { body: '{"error":"invalid_client"}' }));
    await world.start();
    await world.turns(30);
    expect(world.service.heard.length).toBeLessThan(8);
    expect(failuresOf(await world.scrape())).toEqual(['people auth 31', 'logins auth 31']);
    expect(await world.get('/metrics')).toMatch(/^library_credentials_valid{[^}]*} 0$/m);
    world.service.heal();
    await world.turns(16);
    await expectWell(world);
    expect(await world.get('/metrics')).toMatch(/^library_credentials_valid{[^}]*} 1$/m);
    expect(await world.leaks()).toEqual([]);
  });
});

test('a service that fails and fails is asked four times a question, and soon only once', async () => {
  await using world = await World.create();
  await world.start();
  const asked = world.service.heard.length;
  world.service.misbehave(DATA, reply(500));
  await world.turn();
  expect(world.service.heard.length - asked).toBe(2 * 4);
  await world.turns(10);
  expect(world.service.heard.length - asked).toBe(2 * 4 + 4 + 19);
});

test('a service whose answers are no good is not asked again before the next poll', async () => {
  await using world = await World.create();
  await world.start();
  const asked = world.service.heard.length;
  world.service.misbehave(DATA, body('{'));
  await world.turns(10);
  expect(world.service.heard.length - asked).toBe(2 * 10);
});
