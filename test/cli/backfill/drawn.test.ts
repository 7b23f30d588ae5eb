/** Drawn conventions over HTTP: the last value of a month is what the service has of it. */
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/base/random.ts';
import { Calendar } from '../../../src/counting/calendar.ts';
import { Zone } from '../../../src/counting/zone.ts';
import { drawConventions } from '../../../src/simulator/drawn-conventions.ts';
import { BackfillWorld, seriesOf } from './world.ts';

const CALENDAR = new Calendar(new Zone('Europe/Copenhagen'), { hour: 4, minute: 0 });
const DAY_MS = 86_400_000;

test.each(Array.from({ length: 10 }, (_, i) => i + 1))(
  'world %i',
  { timeout: 120_000 },
  async (seed) => {
    const drawn = drawConventions(seededRandom(seed));
    const { startMs } = CALENDAR.periodAt(Date.UTC(2026, 10, 3));
    const endMs = CALENDAR.dayAt(startMs + 3 * DAY_MS).startMs;
    const world = await BackfillWorld.started({
      conventions: {
        ...drawn,
        rateLimit: undefined,
        // Where the designator is read as UTC no window begins where the epoch does.
        designator: drawn.designator === 'ignored, read as UTC' ? 'honoured' : drawn.designator,
        forced: { ...drawn.forced, window: 'as asked' },
        // Minutes since the start of the window are below 0 where the service's clock is ahead.
        serviceClockMs: drawn.minuteKey.form === 'index' ? 0 : drawn.serviceClockMs,
      },
      historyDays: 12,
    });
    const times = ['--from=2026-11-01T04:00', '--to=2026-11-04T04:00'];
    const { status, err } = await world.run([...times, '--step=5m']);
    expect({ status, err: status === 0 ? '' : err }).toEqual({ status: 0, err: '' });
    const [first, last] = [startMs, endMs].map((ms) => world.service.served('lone', ms));
    const month = world.month('2026-11');
    for (const [metric, kind] of [
      ['library_people_entered_total', 'entered'],
      ['library_people_exited_total', 'exited'],
      ['library_logins_total', 'logins'],
    ] as const) {
      const samples = seriesOf(month, metric);
      expect(samples.at(-1)?.value).toBe((first?.[kind] ?? NaN) - (last?.[kind] ?? NaN));
      const falls = samples.filter(({ value }, i) => value < (samples[i - 1]?.value ?? 0));
      expect(falls).toEqual([]);
    }
    await world.stop();
  },
);
