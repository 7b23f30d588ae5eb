/** The tokens of one customer under a virtual clock, from an endpoint that a test answers for. */
import { Secret } from '../../../src/base/secret.ts';
import { Tokens } from '../../../src/service/token.ts';
import type { ExchangeAnswer } from '../../../src/service/transport.ts';
import type { VirtualClock } from '../../support/virtual-clock.ts';
import { tokenAnswer } from './fake-service.ts';
import { patience, virtualClock } from './harness.ts';

interface World {
  readonly clock: VirtualClock;
  readonly tokens: Tokens;
  readonly credentials: boolean[];
  /** What the token endpoint does with the request of this number, from 1. */
  answer: (request: number) => Promise<ExchangeAnswer>;
  requests: number;
  secret: string | undefined;
  take(): Promise<string>;
}

/** Good tokens called 1, 2, 3, that live an hour. */
export function createWorld(draw = 0): World {
  const clock = virtualClock();
  const credentials: boolean[] = [];
  const world: World = {
    clock,
    credentials,
    requests: 0,
    secret: 'secret',
    answer: (request) => Promise.resolve(good(request)),
    tokens: new Tokens({
      access: {
        name: 'riverside',
        clientId: 'riverside-api',
        readSecret: () =>
          world.secret === undefined
            ? Promise.reject(new Error('ENOENT /secrets/riverside'))
            : Promise.resolve(new Secret(world.secret)),
      },
      authUrl: 'http://127.0.0.1',
      scope: 'ServiceAPI',
      clock,
      random: { next: () => draw },
      onCredentials: (valid) => credentials.push(valid),
      send: () => {
        world.requests += 1;
        return world.answer(world.requests);
      },
    }),
    take: async () => (await world.tokens.take(patience())).reveal(),
  };
  return world;
}

function answer(status: number, value: unknown): ExchangeAnswer {
  return {
    status,
    contentType: 'application/json',
    retryAfter: undefined,
    date: undefined,
    body: Buffer.from(JSON.stringify(value)),
  };
}

export function good(request: number, expiresIn: unknown = 3600): ExchangeAnswer {
  return answer(200, tokenAnswer({ access_token: `${request}`, expires_in: expiresIn }));
}

export const refusal = answer(400, { error: 'invalid_client' });
