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
  test('is logged at its first failure, at the tenth in a row, and when it recovers', async () => {
    for (let i = 0; i < 1_440; i++) {
      await poll('server');
    }
    await poll(undefined);
    await poll(undefined);
    expect(lines).toMatchObject([
      {
        level: 'warn',
        msg: 'poll failed',
        customer: 'riverside',
        stream: 'people',
        reason: 'server',
      },
      { level: 'warn', msg: 'poll failed', failures_in_a_row: 10 },
      { level: 'info', msg: 'polling recovered', failures_in_a_row: 1_440 },
    ]);
    expect(lines[0]).toMatchObject({ error: 'failed by server' });
  });

  test('at every other poll is logged once', async () => {
    for (let i = 0; i < 1_440; i++) {
      await poll(i % 2 === 0 ? 'server' : undefined);
    }
    expect(messages()).toEqual(['poll failed', 'polling recovered']);
  });

  test('again after ten successes is logged again', async () => {
    for (let i = 0; i < 60; i++) {
      await poll(i % 20 === 0 ? 'server' : undefined);
    }
    expect(messages().filter((msg) => msg === 'poll failed')).toHaveLength(3);
  });

  test('is logged once for each reason', async () => {
    for (const reason of ['server', 'timeout', 'server', 'timeout', 'auth'] as const) {
      await poll(reason);
    }
    expect(lines.map(({ reason }) => reason)).toEqual(['server', 'timeout', 'auth']);
  });
});

describe('a note', () => {
  test('is logged once, and again after ten successes without it', async () => {
    const withNote = [0, 1, 10, 21];
    for (let minute = 0; minute < 22; minute += 1) {
      await poll(undefined, ...(withNote.includes(minute) ? (['increase_pending'] as const) : []));
    }
    expect(lines.map(({ msg, time }) => [msg, time])).toEqual([
      ['implausible increase ignored until confirmed', '1970-01-01T00:01:00.000Z'],
      ['implausible increase ignored until confirmed', '1970-01-01T00:22:00.000Z'],
    ]);
  });

  test('about a key format is for debugging', async () => {
    await poll(undefined, 'key_format_detected');
    expect(lines).toMatchObject([
      { level: 'debug', msg: 'minute key format detected', customer: 'riverside' },
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

  test('are 20 lines a minute and the number of those suppressed', async () => {
    await failAll();
    expect(messages()).toEqual([
      ...Array.from({ length: 20 }, () => 'poll failed'),
      'log messages suppressed',
    ]);
    expect(lines.at(-1)).toMatchObject({ suppressed_msg: 'poll failed', lines: 980 });
    limiter.reportSuppressed();
    expect(lines).toHaveLength(21);
  });

  test('recover with a line for each failure that was logged', async () => {
    await failAll();
    lines.length = 0;
    streams.forEach((one) => pollLog.succeeded(one, []));
    expect(messages()).toEqual(Array.from({ length: 20 }, () => 'polling recovered'));
  });

  test('do not suppress another message', async () => {
    await failAll();
    pollLog.succeeded(riverside, ['key_format_unknown']);
    expect(lines.at(-1)).toMatchObject({
      level: 'warn',
      msg: 'unknown minute key format, occupancy unavailable',
      customer: 'riverside',
    });
  });
});
