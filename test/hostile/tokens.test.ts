/** Answers of the token endpoint that are no good, or odd and good: at /metrics, with their reason. */
import { describe, expect, test } from 'vitest';
import { body, bytesAndReset, reply } from './support/bytes.ts';
import { failuresOf } from './support/figures.ts';
import type { Endpoint, Misbehaviour } from './support/hostile-service.ts';
import { accepts, answering, suffers } from './support/suffer.ts';
import { expectWell, World } from './support/world.ts';

const TOKEN: readonly Endpoint[] = ['token'];

/** A good answer but for these fields; an undefined one is left out. */
function token(fields: Readonly<Record<string, unknown>>): Misbehaviour {
  return body((good) => JSON.stringify({ ...(JSON.parse(good) as object), ...fields }));
}

/** The good answer with this text of JSON in place of its life. */
function life(text: string): Misbehaviour {
  return body((good) => good.replace('3600', text));
}

describe('a token answer is malformed when', () => {
  test.for<[string, Misbehaviour]>([
    ['it is a page', body('<!doctype html>')],
    ['it is empty', body('')],
    ['it is null', body('null')],
    ['it is an array', body((good) => `[${good}]`)],
    ['it is cut off', body((good) => good.slice(0, -1))],
    ['it is an error with status 200', reply(200, { body: '{"error":"invalid_client"}' })],
    ['it has another content type', reply(200, { headers: { 'content-type': 'text/plain' } })],
    ['it is longer than 8 MiB', body((good) => good + ' '.repeat(8 * 1024 * 1024))],
    ['it is deep', body('['.repeat(1_000_000))],
    ['it is in __proto__', body((good) => `{"__proto__":${good}}`)],
    ['it is no UTF-8', body(Buffer.from([0x7b, 0xff, 0x7d]))],
    ['it has no token', token({ access_token: undefined })],
    ['its token is null', token({ access_token: null })],
    ['its token is empty', token({ access_token: '' })],
    ['its token is a number', token({ access_token: 4711 })],
    ['its token is an object', token({ access_token: { toString: 'x' } })],
    ['its token has a space', token({ access_token: 'a b' })],
    ['its token has a line end', token({ access_token: 'a\r\nX-Injected: 1' })],
    ['its token has a zero', token({ access_token: 'a\0b' })],
    ['its token has other letters', token({ access_token: 'pølse' })],
    ['its token is endless', token({ access_token: 'x'.repeat(100_000) })],
    ['it has no type', token({ token_type: undefined })],
    ['its type is another', token({ token_type: 'mac' })],
    ['its type is null', token({ token_type: null })],
    ['its type is a list', token({ token_type: ['Bearer'] })],
    ['its type is nearly right', token({ token_type: 'Bearer ' })],
  ])('%s', async ([, behave]) => {
    expect(await suffers({ reason: 'malformed', ...answering(behave, TOKEN) })).toEqual([]);
  });
});

test('a token answer that breaks off is unreachable', async () => {
  expect(
    await suffers({ reason: 'unreachable', ...answering(bytesAndReset('HTTP/1.1 200 OK'), TOKEN) }),
  ).toEqual([]);
});

test('a token answer that never comes is a timeout', async () => {
  expect(
    await suffers({ reason: 'timeout', timeoutMs: 60, ...answering(() => {}, TOKEN) }),
  ).toEqual([]);
});

describe('a token answer is good', () => {
  test.for(['bearer', 'BEARER'])('with the type %s', async (token_type) => {
    expect(await accepts(token({ token_type }), { endpoints: TOKEN })).toEqual([]);
  });

  test.for<[string, number, number]>([
    // A life, and how many tokens are asked for in ten minutes, at least and at most.
    ['0', 10, 22],
    ['-1', 10, 22],
    ['-1e308', 10, 22],
    ['1', 10, 22],
    ['0.001', 10, 22],
    ['60', 10, 22],
    ['"60"', 10, 22],
    ['300', 2, 5],
    ['3600', 1, 1],
    ['null', 1, 1],
    ['"soon"', 1, 1],
    ['"-1"', 1, 1],
    ['{}', 1, 1],
    ['[0]', 1, 1],
    ['true', 1, 1],
    ['1e308', 1, 1],
    ['1e999', 1, 1],
    ['9007199254740993', 1, 1],
  ])('with a life of %s, and asked for not too often', async ([text, least, most]) => {
    await using world = await World.create();
    world.service.misbehave(TOKEN, life(text));
    await world.start();
    await expectWell(world);
    for (let minute = 1; minute <= 10; minute += 1) {
      world.visit();
      await world.turn();
      await expectWell(world);
    }
    expect(world.service.tokens.length).toBeGreaterThanOrEqual(least);
    expect(world.service.tokens.length).toBeLessThanOrEqual(most);
    expect(failuresOf(await world.scrape())).toEqual([]);
    expect(await world.leaks()).toEqual([]);
  });

  test('without a life', async () => {
    expect(await accepts(token({ expires_in: undefined }), { endpoints: TOKEN })).toEqual([]);
  });

  test('with a life that the service does not keep to', async () => {
    await using world = await World.create();
    world.service.misbehave(TOKEN, life('1e9'));
    await world.start();
    for (let minute = 1; minute <= 5; minute += 1) {
      world.service.revoke();
      world.visit();
      await world.turn();
      await expectWell(world);
    }
    expect(failuresOf(await world.scrape())).toEqual([]);
  });
});
