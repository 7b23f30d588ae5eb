/** The branches of a customer over restarts: what is requested, and what is stored. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { isPastKnown } from '../../src/counting/branches/plan.ts';
import { Calendar } from '../../src/counting/calendar/calendar.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { CountedDays } from '../../src/counting/past/counted-days.ts';
import { CountedStream } from '../../src/counting/stream.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import type { StoredDay } from '../../src/storage/database.ts';
import { Pasts } from '../../src/storage/pasts.ts';
import { at, BranchFixture } from '../counting/branches/fixture.ts';
import { CALENDAR, COPENHAGEN } from '../support/owner.ts';

const MARKS = new HighWaterMarks();

function streamOf(): CountedStream {
  return new CountedStream('people', new CountedDays(CALENDAR), 'owner', MARKS);
}

type Rows = readonly StoredDay[];

/** Branches whose process begins with some rows. */
class StoredBranches {
  readonly branches: BranchFixture;
  rows: Rows;
  readonly #pasts: Pasts;

  constructor(branches: BranchFixture, rows: Rows = []) {
    this.branches = branches;
    this.rows = rows;
    const { calendar } = branches;
    const customer = { owner: 'owner', calendar, streams: [], streamOf, branches };
    this.#pasts = new Pasts({ daysOf: this.#daysOf.bind(this) }, () => [customer]);
    this.#pasts.restore(customer);
  }

  #daysOf(_: string, stream: string): Rows {
    const rows = this.rows.filter((row) => row.stream === stream);
    return rows.toSorted((a, b) => b.dayStartMs - a.dayStartMs);
  }

  /** Writes what has changed, row by row. Returns the database after each. */
  write(): readonly Rows[] {
    return Array.from(this.#pasts.changedDays(false), ({ ...row }) => {
      const others = this.rows.filter(
        ({ stream, dayStartMs }) =>
          stream !== row.stream || (row.replaces === undefined && dayStartMs !== row.dayStartMs),
      );
      this.rows = [...others, row];
      return this.rows;
    });
  }

  /** Returns a new process with the same records. */
  restarted(rows = this.rows, calendar = this.branches.calendar): BranchFixture {
    return new StoredBranches(this.branches.restarted(calendar), rows).branches;
  }
}

/** Two days of two branches, polled until noon of the third. */
async function polled(): Promise<StoredBranches> {
  const stored = new StoredBranches(new BranchFixture(at(9)));
  const { branches } = stored;
  for (let day = 0; day < 3; day += 1) {
    for (let minute = 0; minute < 240; minute += 9) {
      branches.record('101', at(10, minute, -day), [3, 2]);
      branches.record('102', at(10, minute, -day), [70_000, 1]);
    }
  }
  await branches.pollUntil(at(12, 0, -2), 5 * MINUTE_MS);
  stored.write();
  return stored;
}

describe('a restart', () => {
  test('shows the same without a request but for the running window', async () => {
    const stored = await polled();
    const { branches } = stored;
    expect(stored.write()).toEqual([]);
    const restarted = stored.restarted();
    expect(await restarted.poll()).toBe(1);
    for (const key of ['101', '102']) {
      expect(restarted.today(key)?.counts).toEqual(branches.today(key)?.counts);
    }
    expect(restarted.state.past).toEqual(branches.state.past);
    expect(restarted.state.pasts).toEqual(branches.state.pasts);
    expect(isPastKnown(restarted.state)).toBe(true);
  });

  test('after the day is over requests its other windows', async () => {
    const stored = await polled();
    const { branches } = stored;
    const restarted = stored.restarted();
    restarted.nowMs += DAY_MS;
    // Those from a quarter to twelve to two; the customer counted nobody in others.
    expect(await restarted.poll()).toBe(9);
    await branches.pollUntil(restarted.nowMs, 5 * MINUTE_MS);
    expect(restarted.state.pasts).toEqual(branches.state.pasts);
  });

  test('reads a day again whose sums are not those of the customer', async () => {
    const stored = await polled();
    const rows = stored.rows.map((row) => ({
      ...row,
      content: row.content.replace(/(,900000,\[)\d+/, '$11'),
    }));
    expect(rows).not.toEqual(stored.rows);
    const restarted = stored.restarted(rows);
    expect(await restarted.poll()).toBeGreaterThan(10);
    expect(restarted.state.pasts).toEqual(stored.branches.state.pasts);
  });

  test.each([
    ['another day start', new Calendar(COPENHAGEN, { hour: 5, minute: 0 })],
    ['a zone without summer time', new Calendar(new Zone('Africa/Lagos'), { hour: 4, minute: 0 })],
    ['a zone of the same time now', new Calendar(new Zone('Africa/Lagos'), { hour: 3, minute: 0 })],
  ])('with %s reads all days again', async (_, calendar) => {
    const stored = await polled();
    const restarted = stored.restarted(stored.rows, calendar);
    await restarted.poll();
    const fresh = stored.branches.restarted(calendar);
    await fresh.poll();
    expect(restarted.state.pasts).toEqual(fresh.state.pasts);
  });

  test('after any row goes on where it was, and has the same past', async () => {
    const fresh = (await polled()).branches.restarted();
    const stored = new StoredBranches(fresh.restarted());
    const requests = await fresh.poll();
    for (let sent = 4; sent < requests + 8; sent += 4) {
      await stored.branches.poll(4);
      for (const rows of stored.write()) {
        const restarted = stored.restarted(rows);
        // Those of a day that is not complete are sent again, and that of the running window.
        expect(await restarted.poll()).toBeLessThanOrEqual(Math.max(0, requests - sent) + 6);
        expect(restarted.state.pasts).toEqual(fresh.state.pasts);
      }
    }
    expect(isPastKnown(stored.branches.state)).toBe(true);
  });
});

/** Numbers that no count and no time is, some that are, and other values. */
const anyValue = fc.oneof(
  fc.constantFrom(-1, 0, 0.5, 2 ** 31, 2 ** 53, 1e300, -1e300, 3_600_000),
  fc.nat(),
  fc.jsonValue({ maxDepth: 2 }),
);
/** Made once: it takes long. */
const anyText = fc.string({ maxLength: 4, unit: 'binary' });

/** Returns texts that a row of JSON may have become: cut, with other characters, with another value. */
function damaged(text: string): fc.Arbitrary<string> {
  const place = fc.nat(text.length - 1);
  const values = text.matchAll(/-?\d+|"[^"]*"|\[[^[\]]*\]/g);
  function replace(at: number, removed: number, added: string): string {
    return text.slice(0, at) + added + text.slice(at + removed);
  }
  return fc.oneof(
    place.map((length) => text.slice(0, length)),
    fc.tuple(place, fc.nat(40), anyText).map((change) => replace(...change)),
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom(...values), anyValue)
        .map(([{ index, 0: value }, by]) => replace(index, value.length, JSON.stringify(by))),
    },
  );
}

test('with a damaged row the next polls work', async () => {
  const stored = await polled();
  const { branches } = stored;
  branches.record('103', at(10, 1, -3), [4, 4]);
  await branches.pollUntil(at(5, 0, -3), HOUR_MS);
  // Yesterday is not folded yet.
  branches.record('101', at(23, 0, -2), [1, 0]);
  branches.nowMs = at(6, 0, -3);
  await branches.poll(0);
  stored.write();
  const { rows } = stored;
  const damage = fc
    .nat(rows.length - 1)
    .chain((place) => damaged(rows[place]?.content ?? '').map((content) => ({ place, content })));
  await fc.assert(
    fc.asyncProperty(damage, async ({ place, content }) => {
      const restarted = stored.restarted(
        rows.with(place, { ...rows[place], content } as StoredDay),
      );
      await restarted.poll();
      restarted.nowMs += 20 * MINUTE_MS;
      await restarted.poll();
      expect(isPastKnown(restarted.state)).toBe(true);
      for (const key of restarted.state.keys) {
        const { counts: today } = restarted.today(key) ?? {};
        const counts = [...(today?.counts ?? []), ...restarted.pastTotals(key)];
        expect(counts.flatMap((steps) => [...steps]).every(Number.isFinite)).toBe(true);
      }
    }),
    { seed: 46, numRuns: 120 },
  );
});
