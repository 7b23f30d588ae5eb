/** Branches in the past: their gauges are those that a running exporter has shown. */
import { expect, test } from 'vitest';
import { readBranchPast, replayBranches } from '../../src/backfill/branches.ts';
import { BranchSites } from '../../src/counting/branches/sites.ts';
import { daysBefore } from '../../src/counting/past/past.ts';
import { DayCounter } from '../../src/counting/rows/day-counts.ts';
import { BranchFixture, at } from '../counting/branches/fixture.ts';
import { CALENDAR, COPENHAGEN } from '../support/owner.ts';
import { ESTIMATED } from '../support/polled.ts';

const NORTH = '101';
const SOUTH = '102';
const DESCRIPTIONS = { configured: {}, others: ESTIMATED };
/** At the end of a window: the past knows those that are over. */
const NOW_MS = at(14);

/** Every five minutes from 10:00 on two enter, and two leave by and by. NORTH counts nobody on this day from 11:15 on. */
function records(): readonly (readonly [key: string, atMs: number, counts: readonly number[]])[] {
  const all: [string, number, number[]][] = [];
  for (let daysAgo = 28; daysAgo >= 0; daysAgo -= 1) {
    for (let minute = 1; minute < 5 * 60; minute += 5) {
      const exits = minute < 60 ? 0 : minute < 240 ? 2 : 4;
      all.push([SOUTH, at(10, minute, daysAgo), [2, exits]]);
      if (daysAgo > 0 || minute < 75) {
        all.push([NORTH, at(10, minute, daysAgo), [2, exits]]);
      }
    }
  }
  return all.filter(([, atMs]) => atMs < NOW_MS);
}

test('branches have the gauges of the running exporter, also one that counts nobody', async () => {
  const all = records();
  const fixture = new BranchFixture(NOW_MS);
  all.forEach((one) => fixture.record(...one));

  const live = new BranchSites(CALENDAR, COPENHAGEN.name, DESCRIPTIONS);
  live.counted(fixture.customer());
  while (live.plan() !== undefined) {
    await live.readNext(fixture.query);
  }
  while (live.learn());
  live.counted(fixture.customer());
  const loginMs = at(13, 50);
  const shown = live.metricsAt(NOW_MS, { isCurrent: true, loginMs });

  const { day, query } = fixture;
  const counter = new DayCounter(CALENDAR, [...daysBefore(CALENDAR, day), day], 'people');
  all.forEach(([, atMs, counts]) => counter.add(atMs, counts));
  const days = counter.days();
  const [counted, before] = [days.slice(-1), days.slice(0, -1)];
  const range = { startMs: day.startMs, endMs: NOW_MS };
  const past = await readBranchPast(CALENDAR, range, counted, before, query);
  const replayed = replayBranches(CALENDAR, COPENHAGEN.name, DESCRIPTIONS, past);
  expect(replayed(NOW_MS, loginMs)).toEqual(shown);
  expect(shown).toMatchObject([
    { key: NORTH, isTrusted: false, inside: undefined, enteredHour: 0 },
    { key: SOUTH, isTrusted: true },
  ]);
  const [north, south] = shown;
  expect(north?.missed).toBeGreaterThan(20);
  expect(south?.missed).toBe(0);
  expect(south?.enteredHour).toBeCloseTo(24, 9);
  expect(south?.inside).toBeGreaterThan(0);
});
