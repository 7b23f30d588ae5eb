/** Proves the instruments of the checks: local time, the reader of expositions, the monitor. */
import { describe, expect, test } from 'vitest';
import { Exposition } from './exposition.ts';
import { afternoonZone, dayStart, periodStart, hourMs, offsetMs, wallMs } from './local-time.ts';
import { Monitor } from './monitor.ts';

describe('local time', () => {
  const zone = 'America/New_York';

  test('knows the offset in summer and in winter', () => {
    expect(offsetMs(Date.parse('2026-07-01T12:00:00Z'), zone)).toBe(-4 * hourMs);
    expect(offsetMs(Date.parse('2026-01-01T12:00:00Z'), zone)).toBe(-5 * hourMs);
  });

  test('starts the day at its hour, the day before until then', () => {
    const before = Date.parse('2026-03-10T03:59:00-04:00');
    expect(dayStart(before, zone, '04:00')).toBe(Date.parse('2026-03-09T04:00:00-04:00'));
    expect(dayStart(before + hourMs, zone, '04:00')).toBe(Date.parse('2026-03-10T04:00:00-04:00'));
  });

  test('starts the epoch on the first, before the change of clocks', () => {
    const start = Date.parse('2026-03-01T04:00:00-05:00');
    expect(periodStart(Date.parse('2026-03-31T12:00:00Z'), zone, '04:00')).toBe(start);
    expect(periodStart(Date.parse('2026-04-01T03:59:00-04:00'), zone, '04:00')).toBe(start);
  });

  test('finds a zone in the afternoon at any hour', () => {
    for (let hour = 0; hour < 24; hour += 1) {
      const nowMs = Date.parse('2026-03-10T00:10:00Z') + hour * hourMs;
      expect(new Date(wallMs(nowMs, afternoonZone(nowMs))).getUTCHours()).toBe(15);
    }
  });
});

describe('the reader of expositions', () => {
  test('reads names, labels in any order, escapes and values', () => {
    const read = new Exposition(
      '# HELP a b c\n# TYPE a gauge\na{y="2",x="q\\"\\\\"} 1.5\nb +Inf\n',
    );
    expect(read.value('a', { x: 'q"\\', y: '2' })).toBe(1.5);
    expect(read.value('b')).toBe(Infinity);
    expect([read.help.get('a'), read.type.get('a')]).toEqual(['b c', 'gauge']);
  });

  test.each(['a{x="1" 2', 'a b', 'a 1\na 2', '# TYPE a gauge\n# TYPE a gauge', 'a{x=1} 2'])(
    'does not read %j',
    (text) => {
      expect(() => new Exposition(text)).toThrow(/no |there twice/);
    },
  );
});

describe('the monitor', () => {
  function counter(value: number, epoch = 100): Exposition {
    return new Exposition(
      `library_logins_total{customer="a"} ${value}\n` +
        `library_counter_start_timestamp_seconds{customer="a"} ${epoch}\n`,
    );
  }

  test('finds a counter that falls', () => {
    const monitor = new Monitor();
    monitor.judge(counter(5));
    monitor.judge(counter(4));
    expect(monitor.violations).toContainEqual(expect.stringContaining('fell from 5 to 4'));
  });

  test('finds a counter that begins with 0', () => {
    const monitor = new Monitor();
    monitor.judge(counter(0));
    expect(monitor.violations).toEqual(['library_logins_total of a is shown as 0']);
  });

  test('has nothing to say of a counter that rises or is absent', () => {
    const monitor = new Monitor();
    for (const exposition of [counter(5), new Exposition(''), counter(5), counter(6)]) {
      monitor.judge(exposition);
    }
    expect(monitor.violations).toEqual([]);
  });
});
