/** What the token endpoint answers: a token, or a refusal. */
import { describe, expect, test } from 'vitest';
import { decodeRefusal, decodeToken } from '../../src/service/wire.ts';
import { answer, complaint } from './support/answers.ts';

describe('a token', () => {
  const good = { access_token: 'abc.def', expires_in: 3600, token_type: 'Bearer' };

  test('comes with the life that the service gives it', () => {
    expect(decodeToken(answer(good))).toEqual({ value: 'abc.def', expiresInSeconds: 3600 });
    const { expiresInSeconds } = decodeToken(answer({ ...good, expires_in: '1800' }));
    expect(expiresInSeconds).toBe(1800);
  });

  test.for([undefined, null, 'soon', {}, [3600]])('may not say how long it lives: %j', (life) => {
    expect(decodeToken(answer({ ...good, expires_in: life })).expiresInSeconds).toBeUndefined();
  });

  test.for(['bearer', 'BEARER'])('may be of the type %s', (type) => {
    expect(decodeToken(answer({ ...good, token_type: type })).value).toBe('abc.def');
  });

  test.for([undefined, null, 'mac', 'DPoP', 7])('may not be of the type %j', (type) => {
    expect(complaint(() => decodeToken(answer({ ...good, token_type: type })))).toBe(
      '"token_type" is not "Bearer", and no other type is understood',
    );
  });

  test.for([undefined, null, '', 7, 'a b', 'a\r\nX-Header: y', 'ä', 'a'.repeat(20_000)])(
    'may not be %j',
    (value) => {
      expect(complaint(() => decodeToken(answer({ ...good, access_token: value })))).toBe(
        '"access_token" is not a token; it must be a string of visible ASCII characters',
      );
    },
  );
});

describe('a refusal', () => {
  test('is told by its name in RFC 6749, or as other, and never in the words of the service', () => {
    expect(decodeRefusal(answer({ error: 'invalid_client' }))).toBe('invalid_client');
    expect(decodeRefusal(answer({ error: 'no client with the secret abc' }))).toBe('other');
  });

  test.for([{}, { error: '' }, { error: {} }, [], 'not json'])(
    'is none without an error: %j',
    (value) => {
      expect(decodeRefusal(answer(value))).toBeUndefined();
    },
  );

  test('is none as HTML', () => {
    expect(decodeRefusal(answer({ error: 'invalid_client' }, 'text/html'))).toBeUndefined();
  });
});
