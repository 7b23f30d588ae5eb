import { expect, test } from 'vitest';
import { MINUTE_KEYS } from '../../support/simulated-people.ts';
import { HOUR_MS, MINUTE_MS, StreamFixture } from '../fixture.ts';

/** Keys in local time name the hour that occurs twice by one name. */
test.each([
  ['back in Copenhagen', 'Europe/Copenhagen', Date.UTC(2026, 9, 25, 1)],
  ['forward in Copenhagen', 'Europe/Copenhagen', Date.UTC(2026, 2, 29, 1)],
  ['back in New York', 'America/New_York', Date.UTC(2026, 10, 1, 6)],
  ['back by half an hour on Lord Howe', 'Australia/Lord_Howe', Date.UTC(2026, 3, 4, 15)],
  ['forward by half an hour on Lord Howe', 'Australia/Lord_Howe', Date.UTC(2026, 9, 3, 15, 30)],
  ['back at midnight in Santiago', 'America/Santiago', Date.UTC(2026, 3, 5, 3)],
  ['forward at midnight in Santiago', 'America/Santiago', Date.UTC(2026, 8, 6, 4)],
])('a night in which clocks go %s loses and doubles nobody', async (_, timezone, changeMs) => {
  const startMs = changeMs - 6 * HOUR_MS;
  const conventions = { minuteKey: MINUTE_KEYS['local time'] };
  const people = new StreamFixture({ timezone, startMs, records: [], conventions });
  people.intervalMs = 5 * MINUTE_MS;
  // Never more out than in, so that occupancy does not depend on the order within an hour.
  for (let i = -60; i < 16 * 60; i += 4) {
    people.record(startMs + i * MINUTE_MS + 30_000, i % 12 === 0 ? [2, 1] : [1, 0]);
  }
  for (let poll = 0; poll < 130; poll++) {
    await people.polls(1);
    const at = people.customer.calendar.zone.format(people.nowMs);
    const { periodStartMs, occupancy } = people.metrics();
    const totals = people.served(periodStartMs);
    const today = people.served(people.customer.calendar.dayAt(people.nowMs).startMs);
    const [entered = 0, exited = 0] = today;
    // A period and a day without counts must be confirmed.
    if (entered === 0) {
      continue;
    }
    const exported = { at, totals: people.totals(), today: people.today(), occupancy };
    expect(exported).toEqual({ at, totals, today, occupancy: entered - exited });
  }
});
