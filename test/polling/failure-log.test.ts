import { expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import { createLogger } from '../../src/base/log.ts';
import { FailureLog } from '../../src/polling/failure-log.ts';
import { LogLimiter } from '../../src/polling/log-limiter.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

test('what is told once does not drown in failures of many', () => {
  const clock = new VirtualClock(0);
  const told: string[] = [];
  const log = createLogger({
    level: 'info',
    format: 'json',
    write: (line) => told.push(line),
    nowMs: () => clock.nowMs(),
  });
  const [lines, noteLines] = [new LogLimiter({ log, clock }), new LogLimiter({ log, clock })];
  const failures = new FailureLog(lines, noteLines);
  for (let i = 0; i < 1_000; i += 1) {
    const polled = { customer: { customer: `library-${i}` }, stream: 'people' };
    failures.failed(polled, new ServiceError('timeout', 'no answer came'));
  }
  const quiet = { customer: { customer: 'riverside' }, stream: 'people' };
  failures.succeeded(quiet, ['keys_unknown']);
  expect(told.filter((line) => line.includes('poll failed'))).toHaveLength(20);
  expect(told.at(-1)).toContain('the keys of the minutes have no known form');
  expect(told.at(-1)).toContain('"customer":"riverside"');
});
