/** docs/reference/log-messages.md has every message of the source, with its level. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LOG_MESSAGES } from '../../docs/reference/log-messages.ts';

const SRC = new URL('../../src/', import.meta.url);

/** `log.warn('message'`, or `tryLog('warn', 'message'`. */
const CALL =
  /(?:log\.(debug|info|warn|error)\(|tryLog\(\s*'(debug|info|warn|error)',)\s*(['"])(.+?)\3/gi;
/** Tables of messages, and the level at which most of them are logged. */
const TABLES = [
  [/const NOTE_MESSAGES = (\{[^}]+\})/, 'warn'],
  [/const FAILURE_MESSAGES = (\{[^}]+\})/, 'warn'],
  [/const RELOAD_FAILED = (\{[^}]+\})/, 'error'],
] as const;

function messagesOf(text: string): (readonly [message: string, level: string])[] {
  const called = Array.from(
    text.matchAll(CALL),
    ([, direct, limited, , message = '']) => [message, direct ?? limited ?? ''] as const,
  );
  const tabled = TABLES.flatMap(([pattern, level]) => {
    const body = pattern.exec(text)?.[1] ?? '';
    return Array.from(
      body.matchAll(/: '([^']+)'/g),
      ([, message = '']) => [message, level] as const,
    );
  });
  return [...called, ...tabled];
}

test('every log message is on the page with its level, and no other', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' });
  const found = files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => messagesOf(readFileSync(new URL(file, SRC), 'utf8')));
  const documented = Object.entries(LOG_MESSAGES).map(([message, [level]]) => [message, level]);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(documented));
});
