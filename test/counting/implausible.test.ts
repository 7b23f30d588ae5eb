/**
 * A reading implausible: what is shown before it has come again, and a mark that was
 * accepted.
 */
import { describe, expect, test } from 'vitest';
import { NOVEMBER, NOW_MS } from '../support/owner.ts';
import {
  COPENHAGEN,
  countedLogins,
  CountedStream,
  HOUR_MS,
  MINUTE_MS,
  RECONCILE_MS,
} from './counted.ts';
import { GOOD, textOf } from './marks-file.ts';

const DAY_MS = 24 * HOUR_MS;

/** A stream whose every poll is a baseline with the given total; what is shown after each of them. */
async function shownAfter(
  readings: readonly (number | 'fails')[],
  options: {
    readonly startMs?: number;
    readonly everyMs?: number;
    readonly restart?: boolean;
  } = {},
): Promise<(number | undefined)[]> {
  const { startMs = NOW_MS, everyMs = MINUTE_MS, restart = false } = options;
  let reading: number | 'fails' = 0;
  const counted = countedLogins(() => {
    if (reading === 'fails') {
      throw new Error('the service is away');
    }
    return reading;
  }, startMs);
  const shown = [];
  for (const [i, next] of readings.entries()) {
    reading = next;
    if (i > 0) {
      counted.nowMs += everyMs;
      if (restart) {
        counted.restart();
      }
    }
    await counted.poll();
    shown.push(counted.totals()[0]);
  }
  return shown;
}

describe('an implausible increase', () => {
  test.each<[string, (number | 'fails')[], (number | undefined)[]]>([
    ['is no rise of exactly 1,000', [400, 1400], [400, 1400]],
    ['is a rise of one more', [400, 1401, 1401], [400, 400, 1401]],
    ['is accepted when more has come meanwhile', [400, 5000, 5040], [400, 400, 5040]],
    [
      'that is lower when it comes again has to come again',
      [400, 9e4, 8e4, 8e4],
      [400, 400, 400, 8e4],
    ],
    [
      'that is one lower has to come again too',
      [400, 9e4, 89_999, 89_999],
      [400, 400, 400, 89_999],
    ],
    ['that goes on is accepted at any rate', [400, 9e4, 2e5, 200_500], [400, 400, 2e5, 200_500]],
    ['that does not come again is forgotten', [400, 9e4, 401, 9e4, 402], [400, 400, 401, 401, 402]],
    ['waits over a poll that fails', [400, 9e4, 'fails', 9e4], [400, 400, 400, 9e4]],
    ['that comes twice is accepted, and exported then', [400, 9e4, 9e4, 401], [400, 400, 9e4, 9e4]],
  ])('%s', async (_, readings, shown) => {
    expect(await shownAfter(readings)).toEqual(shown);
  });

  test('is more than 1,000 for each minute since the last good poll', async () => {
    const outage = Array.from({ length: 59 }, () => 'fails' as const);
    expect((await shownAfter([1e5, ...outage, 160_000])).at(-1)).toBe(160_000);
    expect((await shownAfter([1e5, ...outage, 160_001])).at(-1)).toBe(1e5);
    expect((await shownAfter([1e5, ...outage, 160_001, 160_001])).at(-1)).toBe(160_001);
  });

  test('is more than twice the total of a counting period that is a day old', async () => {
    const everyMs = 10 * MINUTE_MS;
    expect(await shownAfter([5000, 10_000], { everyMs })).toEqual([5000, 10_000]);
    expect(await shownAfter([5000, 10_001], { everyMs })).toEqual([5000, 5000]);
    const old = NOVEMBER.startMs + DAY_MS - everyMs;
    expect(await shownAfter([5000, 10_001], { everyMs, startMs: old })).toEqual([5000, 5000]);
    expect(await shownAfter([5000, 10_001], { everyMs, startMs: old - 1 })).toEqual([5000, 10_001]);
  });

  test('is measured against the mark and its time after a restart', async () => {
    const everyMs = 60 * MINUTE_MS;
    const options = { everyMs, restart: true };
    expect(await shownAfter([1e5, 160_000], options)).toEqual([1e5, 160_000]);
    expect(await shownAfter([1e5, 160_001], options)).toEqual([1e5, undefined]);
    expect(await shownAfter([5000, 10_001], options)).toEqual([5000, undefined]);
  });

  test('at the first poll of all is more than 1,000 a minute since the counting period began', async () => {
    const startMs = NOVEMBER.startMs + 100 * MINUTE_MS;
    expect(await shownAfter([100_000], { startMs })).toEqual([100_000]);
    expect(await shownAfter([100_001, 100_001], { startMs })).toEqual([undefined, 100_001]);
  });

  test('in one direction keeps back both: a poll is taken whole', async () => {
    let counts = [40, 39];
    const counted = new CountedStream(COPENHAGEN, NOW_MS, ({ aggregation }) => ({
      aggregation,
      rows: [{ key: 'x', counts }],
    }));
    await counted.poll();
    counts = [90_000, 40];
    counted.nowMs += MINUTE_MS;
    await counted.poll();
    expect(counted.totals()).toEqual([40, 39]);
  });
});

describe('a mark that is far above the service', () => {
  test('is shown, with its excess, until its line is deleted', async () => {
    let total = 40;
    const counted = countedLogins(() => total);
    const planted = [GOOD.with(6, 9_000_000), GOOD.with(2, 'hilltop').with(6, 12)];
    counted.marks.restore(textOf(planted), NOW_MS);
    await counted.poll();
    expect(counted.totals()).toEqual([9_000_000]);
    expect(counted.excess()).toEqual([8_999_960]);
    expect(counted.today()).toEqual([40]);
    total = 41;
    counted.nowMs += RECONCILE_MS;
    await counted.poll();
    expect(counted.totals()).toEqual([9_000_000]);
    expect(counted.excess()).toEqual([8_999_959]);

    const text = [...counted.marks.serialize(counted.nowMs)].join('');
    const lines = text.split('\n').filter((line) => !line.includes(',9000000,'));
    counted.restart(false);
    // As an editor leaves it: a comma after what is now the last line is taken out too.
    expect(counted.marks.restore(lines.join('\n').replace(/,\n\]/, '\n]'), counted.nowMs)).toBe(0);
    await counted.poll();
    expect(counted.totals()).toEqual([41]);
    expect(counted.excess()).toEqual([0]);
  });
});
