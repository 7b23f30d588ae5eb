/** Each problem of a building: just present, just not, and hidden by another one. site-silence.test.ts has them by what was counted. */
import { describe, expect, test } from 'vitest';
import type { Problem } from '../../src/counting/problems.ts';
import { problemsOfDoors, problemsOfSite } from '../../src/counting/site-problems.ts';
import type { DeviceFacts, SiteFacts } from '../../src/counting/site-problems.ts';
import { HOUR_MS, MINUTE_MS } from './fixture.ts';

const NOW_MS = Date.UTC(2026, 10, 25, 14);

function ago(minutes: number): number {
  return NOW_MS - minutes * MINUTE_MS;
}

const USUAL = {
  people: 0,
  entries: 0,
  exits: 0,
  entriesLastHour: 0,
  entriesToday: 90,
  inside: 0,
  openSinceLastSeenMs: 3 * HOUR_MS,
};
const NOTHING_MISSED = { people: 0, earlierEntries: 0, earlierExits: 0 };
const WORKS: SiteFacts = {
  counts: { usual: USUAL, missed: NOTHING_MISSED },
  lastMs: ago(180),
  lastEntryMs: ago(180),
  lastExitMs: ago(190),
  rise: undefined,
  loginMs: undefined,
  others: undefined,
  devices: [],
  doors: [],
  overCapacityMs: undefined,
};

/** Facts of a building that missed so many entries and exits since its last count, three hours ago. */
function missing(passes: number, usual: Partial<typeof USUAL> = {}) {
  const missed = { ...NOTHING_MISSED, people: passes * 0.6 };
  return { counts: { usual: { ...USUAL, people: passes, ...usual }, missed } };
}

function openFor(hours: number) {
  return { openSinceLastSeenMs: hours * HOUR_MS };
}

function missingInDirection(entries: number, exits: number) {
  return { counts: { usual: { ...USUAL, entries, exits }, missed: NOTHING_MISSED } };
}

function found(facts: Partial<SiteFacts>, before: readonly Problem[] = [], nowMs = NOW_MS) {
  return problemsOfSite({ ...WORKS, ...facts }, nowMs, before);
}

const DEVICE: DeviceFacts = {
  lastMs: ago(400),
  share: 0.1,
  excess: 4,
  openMs: 3 * HOUR_MS,
  passes: 20,
  people: 11,
};
const UNBALANCED: Problem = { kind: 'directions_unbalanced', sinceMs: ago(5_000) };
const RATIO_OFF: Problem = { kind: 'door_ratio_off', sinceMs: ago(9_000) };
const IN_USE = { loginMs: ago(165) };
const DELAYED = { rise: { atMs: ago(60), lastMs: ago(120.5) }, lastMs: ago(60.5) };

/** Problems with the minutes since they began. */
function listed(problems: readonly Problem[]): string {
  return problems.map(({ kind, sinceMs }) => `${kind} ${(NOW_MS - sinceMs) / MINUTE_MS}`).join();
}

describe('a building', () => {
  const TOO_FULL = { overCapacityMs: ago(4) };
  const LOWERED = { devices: [{ ...DEVICE, excess: 5 }] };
  const TWO = { devices: [DEVICE, { ...DEVICE, lastMs: ago(900) }] };
  const OF_DOORS = { devices: [DEVICE], doors: [UNBALANCED, RATIO_OFF], ...TOO_FULL };
  const EARLIER = { counts: { usual: USUAL, missed: { ...NOTHING_MISSED, earlierExits: 6 } } };

  test.each<[string, Partial<SiteFacts>, string, isTrusted?: boolean, missed?: number | undefined]>(
    [
      ['that works', {}, '', true, 0],
      [
        'with 10 missed, and a login',
        { ...missing(10), ...IN_USE },
        'nobody_counted 180',
        false,
        6,
      ],
      ['with 9 missed', { ...missing(9.9), ...IN_USE }, ''],
      ['with a login of those who left', { ...missing(35), loginMs: ago(166) }, '', true, 21],
      ['with 36 missed in over 13 hours', missing(36, openFor(13.1)), 'nobody_counted 180'],
      ['with 36 missed in 13 hours', missing(36, openFor(13)), ''],
      ['with 35 missed in a day', missing(35.9, openFor(24)), ''],
      ['with 6 missed entries', missingInDirection(6, 5.9), 'entries_missing 180'],
      ['with 6 missed exits', missingInDirection(5.9, 6), 'exits_missing 190', false, 6],
      ['with no entry at all', { ...missingInDirection(6, 0), lastEntryMs: -Infinity }, ''],
      ['that missed 6 exits earlier today', EARLIER, '', false, 0],
      ['with a silent device', { ...missing(35), devices: [DEVICE] }, 'door_silent 400', false, 21],
      ['with a device of few people', { devices: [{ ...DEVICE, share: 0.09 }] }, ''],
      ['with a device that was lowered', LOWERED, ''],
      ['with devices that are not known', { devices: undefined }, ''],
      ['with a device silent for less', { devices: [{ ...DEVICE, openMs: 1 }] }, ''],
      ['with a device that missed 19', { devices: [{ ...DEVICE, passes: 19 }] }, ''],
      ['with two silent devices', TWO, 'door_silent 900', false, 22],
      ['with late counts', DELAYED, 'counts_delayed 60.5', true, 0],
      ['with a newer minute', { ...DELAYED, lastMs: ago(60) }, ''],
      ['without a rise', { ...DELAYED, rise: { ...DELAYED.rise, atMs: ago(60.1) } }, ''],
      ['whose newest count was new', { ...DELAYED, rise: { atMs: ago(1), lastMs: ago(61) } }, ''],
      ['that is too full', TOO_FULL, 'over_capacity 4'],
      [
        'that counts nobody, which hides its other doors and its capacity',
        { ...missing(10, { exits: 7 }), ...IN_USE, ...OF_DOORS },
        'nobody_counted 180',
      ],
      [
        'with late counts, which hide that nobody is counted',
        { ...missing(10, { exits: 7 }), ...DELAYED, loginMs: NOW_MS },
        'counts_delayed 60.5',
      ],
      ['without a past', { counts: undefined, lastMs: undefined }, '', true, undefined],
    ],
  )('%s', (_name, facts, expected, ...trusted) => {
    const { problems, isTrusted, missed } = found(facts);
    expect(listed(problems)).toBe(expected);
    expect([isTrusted, missed].slice(0, trusted.length)).toEqual(trusted);
  });
});

describe('a branch counts nobody', () => {
  test.each<[string, readonly (number | undefined)[], Partial<SiteFacts>, boolean]>([
    ['half of the others did within 50 minutes', [49, 49, 90, 90], {}, true],
    ['fewer did', [49, 90, undefined], {}, false],
    ['it never did', [49], { lastMs: undefined }, false],
    ['half of the others did 50 minutes ago', [50, 90], {}, false],
    ['there is no other one', [], {}, false],
    ['none of them did and a login came later', [90, undefined], { loginMs: ago(75) }, true],
    ['none of them did and a login came soon', [90], { loginMs: ago(76) }, false],
    ['on a day with 5 usual entries so far', [1], missing(10, { entriesToday: 5 }), true],
    ['on a day with fewer', [1], missing(10, { entriesToday: 4.9 }), false],
  ])('where %s: %s', (_name, others, facts, isPresent) => {
    const seen = others.map((minutes) => minutes && ago(minutes));
    const { problems } = found({ ...missing(10), others: seen, ...facts });
    expect(problems.length === 1).toBe(isPresent);
  });
});

describe('a problem lasts', () => {
  const [nobody] = found({ ...missing(10), ...IN_USE }).problems;
  const [silent] = found({ devices: [DEVICE] }).problems;
  const [exits] = found(missingInDirection(0, 9)).problems;
  const OLDER = { ...DEVICE, share: 0, people: 0 };

  test.each<[string, Problem | undefined, Partial<SiteFacts>]>([
    ['when the silence has become usual', nobody, missing(0)],
    ['while what is usual is not known', nobody, { counts: undefined }],
    ['when nobody was counted for four weeks', nobody, { ...missing(0), lastMs: undefined }],
    ['when the count is known by its quarter-hour', nobody, { ...missing(0), lastMs: ago(166) }],
    ['when a silent direction has become usual', exits, missingInDirection(0, 0)],
    ['when a new month begins', silent, { devices: [OLDER, { ...OLDER, lastMs: ago(1) }] }],
    ['until devices are polled in it', silent, { devices: undefined }],
  ])('%s, and its number missed does not fall', (_name, before, facts) => {
    expect(before).toBeDefined();
    const { problems } = found(facts, before && [before], NOW_MS + HOUR_MS);
    expect(problems).toEqual([before]);
  });

  test.each<[string, Problem | undefined, Partial<SiteFacts>]>([
    ['somebody is counted', nobody, { ...missing(0), lastMs: ago(165) }],
    ['somebody leaves, also when that is old', exits, { counts: undefined, lastExitMs: ago(1) }],
    ['the device counts', silent, { devices: [{ ...DEVICE, lastMs: ago(1), passes: 0 }] }],
  ])('until %s', (_name, before, facts) => {
    expect(found(facts, before && [before]).problems).toEqual([]);
  });
});

describe('doors', () => {
  const RATIO = { value: 1.12, stddev: 0.04 };

  /** Problems with the number of days ago in place of an instant. */
  function ofDoors(rejectedDays: readonly number[], ratios: readonly object[] = []) {
    const model = {
      rejectedDays,
      ratios: ratios.map((one, i) => ({ daysAgo: i, ...RATIO, ...one })),
    };
    const problems = problemsOfDoors(model, (daysAgo) => -daysAgo);
    return problems.map(({ kind, sinceMs }) => `${kind} ${sinceMs}`);
  }

  test('differ on three of the last seven days', () => {
    expect(ofDoors([20, 7, 2, 1])).toEqual(['directions_unbalanced -7']);
    expect(ofDoors([8, 2, 1])).toEqual([]);
  });

  test.each<[string, readonly object[], readonly string[]]>([
    ['for two days', [{ daysAgo: 1 }, { daysAgo: 0 }], []],
    ['since a day before closed ones', [{ daysAgo: 9 }], ['door_ratio_off -9']],
    ['but not today', [{ daysAgo: 2 }, { daysAgo: 0, value: 1.09 }], []],
    ['again', [{ daysAgo: 4 }, { daysAgo: 3, value: 1 }, { daysAgo: 2 }], ['door_ratio_off -2']],
    ['by chance', [{ daysAgo: 2, stddev: 0.0601 }], []],
    ['by too many exits', [{ daysAgo: 2, value: 0.89 }], ['door_ratio_off -2']],
  ])('have a ratio that is off %s', (_name, ratios, expected) => {
    expect(ofDoors([], ratios)).toEqual(expected);
  });
});
