import { beforeEach, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import type { FailureReason } from '../../src/base/errors.ts';
import { LogLimiter } from '../../src/base/log-limiter.ts';
import type { PollNote } from '../../src/counting/totals/state.ts';
import { PollLog } from '../../src/polling/poll-log.ts';
import type { PolledStream } from '../../src/polling/poll-log.ts';
import { captureLog } from '../support/captured-log.ts';
import type { Line } from '../support/captured-log.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

let pollLog: PollLog;
let lines: Line[];

beforeEach(() => {
  const clock = new VirtualClock(0);
  const captured = captureLog(clock, 'debug');
  lines = captured.lines;
  pollLog = new PollLog(captured.log, new LogLimiter({ ...captured, clock }));
});

function polledStream(customer: string): PolledStream {
  return { customer: { customer }, stream: 'people' };
}

const riverside = polledStream('riverside');

/** One poll: a reason is a failure, undefined a success, perhaps with a note. */
function poll(reason: FailureReason | undefined, ...notes: PollNote[]): void {
  if (reason === undefined) {
    pollLog.succeeded(riverside, notes);
  } else {
    pollLog.failed(riverside, new ServiceError(reason, `failed by ${reason}`));
  }
}

test('a stream that fails is logged at its first failure, for another reason, and when it recovers', () => {
  const reasons = ['server', 'server', 'auth', 'auth', undefined, undefined, 'auth'] as const;
  reasons.forEach((reason) => poll(reason));
  const stream = { customer: 'riverside', stream: 'people' };
  const refused = { level: 'warn', msg: 'poll failed', ...stream, reason: 'auth' };
  expect(lines).toMatchObject([
    { level: 'warn', msg: 'poll failed', ...stream, reason: 'server', error: 'failed by server' },
    refused,
    { level: 'info', msg: 'polling recovered', ...stream, failures_in_a_row: 4 },
    refused,
  ]);
});

test('a note is logged when it begins, whatever fails in between', () => {
  poll(undefined, 'increase_pending');
  poll(undefined, 'increase_pending', 'totals_by_quarter');
  poll('server');
  poll(undefined, 'increase_pending');
  poll(undefined);
  poll(undefined, 'increase_pending');
  expect(lines.map(({ msg }) => msg)).toEqual([
    'implausible increase ignored until confirmed',
    'day totals unusable, using quarter',
    'poll failed',
    'polling recovered',
    'implausible increase ignored until confirmed',
  ]);
});

test('a note about keys names one of them', () => {
  const noted = { key: '"2026-11-18T12:07"', hours: 1 };
  poll(undefined, { kind: 'keys_off_clock', ...noted });
  const msg = 'newest minute is hours off, check service.key_times';
  expect(lines).toMatchObject([{ level: 'warn', msg, customer: 'riverside', ...noted }]);
});

test('many streams that fail recover with a line for each failure that was logged, and suppress no other message', () => {
  const streams = Array.from({ length: 1_000 }, (_, i) => polledStream(`c${i}`));
  streams.forEach((one) => pollLog.failed(one, new ServiceError('timeout', 'no answer came')));
  lines.length = 0;
  streams.forEach((one) => pollLog.succeeded(one, []));
  expect(lines.map(({ msg }) => msg)).toEqual(Array(20).fill('polling recovered'));
  poll(undefined, 'breakdown_keys_dropped');
  expect(lines.at(-1)).toMatchObject({ msg: 'too many breakdown keys, some dropped' });
});
