import { beforeEach, describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import type { FailureReason } from '../../src/base/errors.ts';
import { LogLimiter } from '../../src/base/log-limiter.ts';
import type { PollNote } from '../../src/counting/totals/state.ts';
import { PollLog } from '../../src/polling/poll-log.ts';
import type { PolledStream } from '../../src/polling/poll-log.ts';
import { captureLog } from '../support/captured-log.ts';
import type { Line } from '../support/captured-log.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const MINUTE_MS = 60_000;

let clock: VirtualClock;
let limiter: LogLimiter;
let pollLog: PollLog;
let lines: Line[];

beforeEach(() => {
  clock = new VirtualClock(0);
  const captured = captureLog(clock, 'debug');
  lines = captured.lines;
  limiter = new LogLimiter({ ...captured, clock });
  pollLog = new PollLog(captured.log, limiter);
});

function polledStream(customer: string): PolledStream {
  return { customer: { customer }, stream: 'people' };
}

const riverside = polledStream('riverside');

/** One poll a minute: a reason is a failure, undefined a success, perhaps with a note. */
async function poll(reason: FailureReason | undefined, ...notes: PollNote[]): Promise<void> {
  await clock.advance(MINUTE_MS);
  if (reason === undefined) {
    pollLog.succeeded(riverside, notes);
  } else {
    pollLog.failed(riverside, new ServiceError(reason, `failed by ${reason}`));
  }
}

function messages(): string[] {
  return lines.map(({ msg }) => msg);
}

describe('a stream that fails', () => {
  test('is logged at its first failure, and when it recovers', async () => {
    for (let i = 0; i < 1_440; i++) {
      await poll('server');
    }
    await poll(undefined);
    await poll(undefined);
    const stream = { customer: 'riverside', stream: 'people' };
    const failed = { ...stream, reason: 'server', error: 'failed by server' };
    expect(lines).toMatchObject([
      { level: 'warn', msg: 'poll failed', ...failed },
      { level: 'info', msg: 'polling recovered', ...stream, failures_in_a_row: 1_440 },
    ]);
  });
});

describe('a note', () => {
  test('is logged when it begins, whatever fails in between', async () => {
    await poll(undefined, 'increase_pending');
    await poll(undefined, 'increase_pending', 'totals_by_quarter');
    await poll('server');
    await poll(undefined, 'increase_pending');
    await poll(undefined);
    await poll(undefined, 'increase_pending');
    expect(messages()).toEqual([
      'implausible increase ignored until confirmed',
      'day totals unusable, using quarter',
      'poll failed',
      'polling recovered',
      'implausible increase ignored until confirmed',
    ]);
  });

  test('about keys names one of them', async () => {
    await poll(undefined, { kind: 'keys_off_clock', key: '"2026-11-18T12:07"', hours: 1 });
    expect(lines).toMatchObject([
      {
        level: 'warn',
        msg: 'newest minute is hours off, check service.key_times',
        customer: 'riverside',
        key: '"2026-11-18T12:07"',
        hours: 1,
      },
    ]);
  });
});

test('the first poll that takes longer than the interval is logged, in seconds', () => {
  pollLog.tooSlow(riverside, 1_500, 1_000);
  pollLog.tooSlow(polledStream('hillside'), 2_500, 1_000);
  expect(lines).toMatchObject([
    { level: 'warn', customer: 'riverside', poll_seconds: 1.5, interval_seconds: 1 },
  ]);
});

describe('many streams that fail', () => {
  const streams = Array.from({ length: 1_000 }, (_, i) => polledStream(`c${i}`));

  async function failAll(): Promise<void> {
    streams.forEach((one) => pollLog.failed(one, new ServiceError('timeout', 'no answer came')));
    await clock.advance(MINUTE_MS);
    limiter.reportSuppressed();
  }

  test('recover with a line for each failure that was logged', async () => {
    await failAll();
    lines.length = 0;
    streams.forEach((one) => pollLog.succeeded(one, []));
    expect(messages()).toEqual(Array.from({ length: 20 }, () => 'polling recovered'));
  });

  test('do not suppress another message', async () => {
    await failAll();
    pollLog.succeeded(riverside, ['breakdown_keys_dropped']);
    expect(lines.at(-1)).toMatchObject({
      level: 'warn',
      msg: 'too many breakdown keys, some dropped',
      customer: 'riverside',
    });
  });
});
