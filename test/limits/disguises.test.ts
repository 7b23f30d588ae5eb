/** The search for secrets finds them in whatever form. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { partsIn, oddSecret } from './disguises.ts';

describe('the search', () => {
  const secret = oddSecret();

  test.each([
    ['as it is', secret],
    ['in JSON', JSON.stringify({ secret })],
    ['in JSON in JSON', JSON.stringify({ text: JSON.stringify({ secret }) })],
    ['in an address', `https://a/?${new URLSearchParams({ secret }).toString()}`],
    ['in a path', `https://a/${encodeURIComponent(secret)}`],
    ['in Basic', `Basic ${Buffer.from(`user:${secret}`).toString('base64')}`],
    ['in Basic of another name', `Basic ${Buffer.from(`users:${secret}`).toString('base64')}`],
    ['in base64 for addresses', Buffer.from(secret).toString('base64url')],
    ['as bytes in hex', Buffer.from(secret).toString('hex')],
    ['in part', `…${secret.slice(10, 24)}…`],
    ['at its end', secret.slice(-13)],
  ])('finds a secret %s', (_how, text) => {
    expect(partsIn(`{"msg":"${text}"}`, [secret])).not.toEqual([]);
  });

  test('finds nothing where there is none', () => {
    const text = `lantern ${randomUUID()} library_up{customer="a"} 1 ${oddSecret()}`;
    expect(partsIn(text, [secret])).toEqual([]);
  });
});
