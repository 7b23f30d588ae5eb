/**
 * Worlds drawn from a seed: conventions of the service, traffic, lateness, faults, restarts. Safe at
 * every scrape, and exact once the faults have stopped for a reconcile interval.
 */
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import type { Random } from '../../src/base/random.ts';
import { Zone } from '../../src/counting/zone.ts';
import { CountedStream, RECONCILE_MS } from '../support/counted-stream.ts';
import { SmallService } from '../support/small-service.ts';
import type { SmallConventions } from '../support/small-service.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const SEEDS = 12;

const ZONES = ['Europe/Copenhagen', 'America/New_York', 'Asia/Kathmandu', 'Europe/London'];
/** Around a change of the month, a change of the clock in two zones, and an ordinary week. */
const STARTS = [Date.UTC(2026, 9, 31, 6), Date.UTC(2026, 9, 24, 20), Date.UTC(2026, 10, 18, 9)];

function pick<Choice>(random: Random, choices: readonly Choice[]): Choice {
  return choices[Math.floor(random.next() * choices.length)] as Choice;
}

function draw(random: Random): SmallConventions {
  const lags = pick(random, [0, 0, 0, 20 * HOUR_MS]);
  const daySnaps = random.next() < 0.2;
  return {
    key: pick(random, ['iso_z', 'local', 'utc', 'seconds', 'time_local']),
    fromMeans: pick(random, ['event', 'event', 'arrival']),
    fromInclusive: random.next() < 0.5,
    designator: pick(random, ['honoured', 'honoured', 'ignored']),
    dayLagMs: lags,
    daySnaps,
    quarterLagMs: random.next() < 0.3 ? lags : 0,
    // Where `day` is wrong and everything is forced into it, no scheme can be right.
    mostRows: lags > 0 || daySnaps ? 10_000 : pick(random, [10_000, 10_000, 20, 60]),
    listZeros: random.next() < 0.3,
    resolutionMs: pick(random, [1, 1000, MINUTE_MS]),
  };
}

/** Plays one world through; what went wrong in it, in words. */
async function violationsOf(seed: number): Promise<string[]> {
  const random = seededRandom(seed);
  const zone = new Zone(pick(random, ZONES));
  const conventions = draw(random);
  const service = new SmallService(zone, 2, conventions);
  const faults = random.next() < 0.6 ? 0.03 : 0;
  const empties = random.next() < 0.5 ? 0.02 : 0;
  const corrects = random.next() < 0.3;
  const startMs = pick(random, STARTS) + Math.floor(random.next() * 24) * HOUR_MS;
  let calm = false;
  const counted = new CountedStream(zone, startMs, (question, nowMs) => {
    const lot = calm ? 1 : random.next();
    if (lot < faults) {
      throw new Error('a fault');
    }
    const reading = service.answer(question, nowMs);
    return lot < faults + empties ? { ...reading, rows: [] } : reading;
  });
  addTraffic(random, service, startMs, corrects);
  // Between two anchors a counter may be above the service by what that took back meanwhile.
  const gross = new SmallService(zone, 2, conventions);
  gross.records.push(...service.records.filter(({ counts }) => counts.every((n) => n >= 0)));

  const violations: string[] = [];
  let epoch = 0;
  let shown = [0, 0];
  let most = [0, 0];
  for (let minute = 0; minute < 11 * 60; minute++) {
    calm = minute > 8 * 60;
    counted.nowMs += MINUTE_MS;
    if (!calm && random.next() < 0.005) {
      counted.restart();
    }
    await counted.poll(random.next() < 0.9, Math.floor(random.next() * 400));
    if (epoch !== counted.figures().periodStartMs) {
      epoch = counted.figures().periodStartMs;
      shown = [0, 0];
      most = [0, 0];
    }
    const served = gross.total(epoch, counted.nowMs);
    most = most.map((count, kind) => Math.max(count, served[kind] ?? 0));
    counted.totals().forEach((total, kind) => {
      const [before = 0, bound = 0] = [shown[kind], most[kind]];
      if (total !== undefined && (total < before || total > bound)) {
        violations.push(`minute ${minute}: ${total} after ${before}, of at most ${bound}`);
      }
      shown[kind] = total ?? before;
    });
  }
  counted.nowMs += RECONCILE_MS;
  // Where an epoch has just begun, it takes three polls to believe that nothing is in it.
  for (let polls = 0; polls < 3; polls++) {
    await counted.poll();
  }
  const served = service.total(counted.figures().periodStartMs, counted.nowMs);
  const held = corrects ? counted.held() : [0, 0];
  const exact = served.map((total, kind) => total + (held[kind] ?? NaN));
  if (!exact.every((total, kind) => total === counted.totals()[kind])) {
    violations.push(`at the end: ${counted.totals().join()} and not ${exact.join()}`);
  }
  const world = JSON.stringify({ seed, zone: zone.name, conventions, faults, empties, corrects });
  return violations.map((violation) => `${violation} in ${world}`);
}

function addTraffic(
  random: Random,
  service: SmallService,
  startMs: number,
  corrects: boolean,
): void {
  const perHour = pick(random, [2, 20, 120]);
  const late = pick(random, [0, 0.1, 0.3]);
  const endMs = startMs + 12 * HOUR_MS;
  for (let ms = startMs - 6 * HOUR_MS; ms < endMs; ms += (2 * random.next() * HOUR_MS) / perHour) {
    const eventMs = Math.floor(ms);
    // What arrives late after the last anchor can only be in the next one.
    const settles = ms < startMs + 5 * HOUR_MS;
    const delayMs = settles && random.next() < late ? Math.floor(random.next() * 3 * HOUR_MS) : 0;
    const counts = random.next() < 0.5 ? [1, 0] : [0, 1];
    service.records.push({ eventMs, arrivalMs: eventMs + delayMs, counts });
    if (settles && corrects && random.next() < 0.02) {
      const arrivalMs = eventMs + delayMs + Math.floor(random.next() * HOUR_MS);
      service.records.push({ eventMs, arrivalMs, counts: counts.map((count) => -count) });
    }
  }
}

describe('counting', () => {
  test(`is safe and exact in ${SEEDS} drawn worlds`, { timeout: 120_000 }, async () => {
    const seeds = Array.from({ length: SEEDS }, (_, i) => i + 1);
    const violations = await Promise.all(seeds.map(violationsOf));
    expect(violations.flat()).toEqual([]);
  });
});
