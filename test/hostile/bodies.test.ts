/** Answers with status 200 that are not whole and good: at /metrics, with their reason. */
import { describe, expect, test } from 'vitest';
import { body, replaced, reply } from './support/bytes.ts';
import type { Misbehaviour } from './support/hostile-service.ts';
import { accepts, answering, suffers } from './support/suffer.ts';

const MIB = 1024 * 1024;
const COUNT = /"(in|value)":\d+/;
const FIRST_ROW = /\{"key":[^}]*\}/;
const KEY = /"key":"[^"]*"/;

/** Every one of these is the reason malformed. */
function malformed(cases: readonly (readonly [string, Misbehaviour])[]): void {
  test.for(cases)('%s', async ([, behave]) => {
    expect(await suffers({ reason: 'malformed', ...answering(behave) })).toEqual([]);
  });
}

describe('a content type', () => {
  malformed(
    [
      'text/html; charset=utf-8',
      'text/plain',
      'text/json',
      'application/octet-stream',
      'application/xml',
      'application/jsonp',
      'application/x-ndjson',
      'application/json-seq',
      'json',
      'multipart/mixed; boundary="application/json"',
      undefined,
    ].map((type) => [
      `of ${type} is not that of an answer, though its body is good`,
      reply(200, { headers: { 'content-type': type }, body: ({ good }) => good }),
    ]),
  );

  test.for([
    'application/json',
    'Application/JSON;charset=UTF-8',
    'application/problem+json',
    '  application/json ; v=1',
  ])('of %s is', async (type) => {
    expect(
      await accepts(reply(200, { headers: { 'content-type': type }, body: ({ good }) => good })),
    ).toEqual([]);
  });
});

describe('a body is no good when it is', () => {
  malformed([
    ['a page', body('<!doctype html><title>Sign in</title>')],
    ['empty', body('')],
    ['white space', body(' \n\t ')],
    ['a zero byte', body('\0')],
    ['null', body('null')],
    ['a number', body('7')],
    ['a string', body((good) => JSON.stringify(good))],
    ['an array', body((good) => `[${good}]`)],
    ['an empty object', body('{}')],
    ['an error object', reply(200)],
    [
      'an error object beside metadata',
      body((good) => good.replace(/"result".*/, '"error":"no"}')),
    ],
    ['cut off by a byte', body((good) => good.slice(0, -1))],
    ['cut off in the middle', body((good) => good.slice(0, good.length / 2))],
    ['there twice', body((good) => good + good)],
    ['followed by something', body((good) => `${good} and more`)],
    ['a call of a function', body((good) => `answer(${good})`)],
    ['JSON with comments', body((good) => `/* good */ ${good}`)],
    ['JSON with a comma too many', body((good) => good.replace(/\]/, ',]'))],
    ['NaN where a number is', replaced(COUNT, '"$1":NaN')],
    ['hexadecimal where a number is', replaced(COUNT, '"$1":0x10')],
    ['without metadata', replaced(/"metadata":\{[^}]*\},/, '')],
    ['with metadata of null', replaced(/"metadata":\{[^}]*\}/, '"metadata":null')],
    ['with metadata in an array', replaced(/"metadata":(\{[^}]*\})/, '"metadata":[$1]')],
    ['without an aggregation', replaced(/,"aggregation":"\w+"/, '')],
    ['with an empty aggregation', replaced(/"aggregation":"\w+"/, '"aggregation":""')],
    ['with a number for an aggregation', replaced(/"aggregation":"\w+"/, '"aggregation":1')],
    ['with an endless aggregation', replaced(/"(minute|day)"/, `"${'minute'.repeat(1000)}"`)],
    ['with a token for the rest of it', replaced(/"count":/, '"startToken":"more","count":')],
    ['without a result', body((good) => good.replace(/"result".*/, '"rows":[]}'))],
    ['with a result of null', body((good) => good.replace(/"result":.*/, '"result":null}'))],
    ['with an object for a result', body((good) => good.replace(/"result":.*/, '"result":{}}'))],
    ['with a string for a result', body((good) => good.replace(/"result":.*/, '"result":"[]"}'))],
    ['with its fields in __proto__', body((good) => `{"__proto__":${good}}`)],
    ['with its fields in constructor', body((good) => `{"constructor":{"prototype":${good}}}`)],
    ['deep', body(`${'['.repeat(MIB)}${']'.repeat(MIB)}`)],
    ['deep and never closed', body('{"result":'.repeat(MIB / 2))],
    ['deep where a key is', replaced(KEY, `"key":${'['.repeat(MIB)}${']'.repeat(MIB)}`)],
    ['no UTF-8', body((good) => Buffer.concat([Buffer.from(good), Buffer.from([0xff])]))],
    ['no UTF-8 in a key', body((good) => latin1(good.replace(KEY, '"key":"\u00e6"')))],
    [
      'UTF-8 of surrogates',
      body((good) => latin1(good.replace(KEY, '"key":"\u00ed\u00a0\u0080"'))),
    ],
    ['UTF-8 that is too long', body((good) => latin1(good.replace(KEY, '"key":"\u00c0\u00af"')))],
    ['UTF-8 that is cut off', body((good) => latin1(`${good}\u00e2\u0082`))],
    ['UTF-16', body((good) => Buffer.from(`\ufeff${good}`, 'utf16le'))],
    ['raw records', body('{"metadata":{"count":1},"result":[{"id":"1","amount":3}]}')],
  ]);
});

describe('a row is no good when its', () => {
  const wrongCounts: readonly string[] = [
    '-1',
    '-0.5',
    '1.5',
    '1e-1',
    '1e300',
    '9007199254740992',
    '18446744073709551616',
    '1e999',
    '-1e999',
    '"3"',
    '""',
    '"many"',
    'null',
    'true',
    '[]',
    '[3]',
    '{}',
    '{"valueOf":3}',
  ];
  malformed([
    ...wrongCounts.map((value) => [`count is ${value}`, replaced(COUNT, `"$1":${value}`)] as const),
    ['count is such that all add up beyond all numbers', body(beyondAllNumbers)],
    ['count is missing', replaced(/,"(in|value)":\d+/, '')],
    ['count has another name', replaced(COUNT, '"count":3')],
    ['count has its name in capitals', replaced(/"(in|value)":/, '"In":')],
    ['last count is wrong', replaced(/(.*)"(out|value)":\d+/s, '$1"$2":-1')],
    ['key is missing', replaced(/"key":"[^"]*",/, '')],
    ['key is null', replaced(KEY, '"key":null')],
    ['key is an object', replaced(KEY, '"key":{"minute":"2026-11-14T10:00"}')],
    ['key is an array', replaced(KEY, '"key":["2026-11-14T10:00"]')],
    ['key is a boolean', replaced(KEY, '"key":true')],
    ['key is a fraction', replaced(KEY, '"key":1793523600.5')],
    ['key is beyond all numbers', replaced(KEY, '"key":1e400')],
    ['key is very long', replaced(KEY, `"key":"${'2'.repeat(10_000)}"`)],
    ['fields are in __proto__', replaced(/\{("key":[^}]*)\}/, '{"__proto__":{$1}}')],
    ['place is taken by null', replaced(/\{"key":[^}]*\}/, 'null')],
    ['place is taken by an array', replaced(/\{"key":[^}]*\}/, '["k",1,1]')],
    ['place is taken by a number', replaced(/\{"key":[^}]*\}/, '1')],
    ['fields are those of the other stream', body(ofTheOtherStream)],
  ]);
});

/** Each count is a good one. */
function beyondAllNumbers(good: string): string {
  return good.replace(FIRST_ROW, (row) => {
    const largest = row.replaceAll(/:\d+/g, `:${Number.MAX_SAFE_INTEGER}`);
    return `${largest},${largest}`;
  });
}

function latin1(text: string): Uint8Array {
  return Buffer.from(text, 'latin1');
}

function ofTheOtherStream(good: string): string {
  return good.includes('"value"')
    ? good.replaceAll(/"value":(\d+)/g, '"in":$1,"out":$1')
    : good.replaceAll(/"in":(\d+),"out":\d+/g, '"value":$1');
}
