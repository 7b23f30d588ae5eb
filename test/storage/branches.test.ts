/** The branches of a customer over restarts: what is requested, and what is stored. */
import { describe, expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/base/duration.ts';
import { isPastKnown } from '../../src/counting/branches/plan.ts';
import { Calendar } from '../../src/counting/calendar/calendar.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import type { StoredDay } from '../../src/storage/database.ts';
import { Pasts } from '../../src/storage/pasts.ts';
import { at, BranchFixture, NORTH, SOUTH } from '../counting/branches/fixture.ts';
import { COPENHAGEN } from '../support/owner.ts';

type Rows = readonly StoredDay[];

/** Branches whose process begins with some rows. */
class StoredBranches {
  readonly branches: BranchFixture;
  rows: Rows;
  readonly #pasts: Pasts;

  constructor(branches: BranchFixture, rows: Rows = []) {
    this.branches = branches;
    this.rows = rows;
    const { calendar, sites } = branches;
    const streams = { streams: [], streamOf: expect.unreachable };
    const customer = { owner: 'owner', calendar, ...streams, branches: sites };
    this.#pasts = new Pasts({ daysOf: this.#daysOf.bind(this) }, () => [customer]);
    this.#pasts.restore(customer);
  }

  #daysOf(_: string, stream: string): Rows {
    const rows = this.rows.filter((row) => row.stream === stream);
    return rows.toSorted((a, b) => b.dayStartMs - a.dayStartMs);
  }

  /** Writes what has changed. Returns the number of rows. */
  write(): number {
    const changed = Array.from(this.#pasts.changedDays(false), ({ ...row }) => row);
    for (const row of changed) {
      const others = this.rows.filter(
        ({ stream, dayStartMs }) =>
          stream !== row.stream || (row.replaces === undefined && dayStartMs !== row.dayStartMs),
      );
      this.rows = [...others, row];
    }
    return changed.length;
  }

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
      branches.record(NORTH, at(10, minute, -day), [3, 2]);
      branches.record(SOUTH, at(10, minute, -day), [70_000, 1]);
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
    expect(stored.write()).toBe(0);
    const restarted = stored.restarted();
    expect(await restarted.poll()).toBe(1);
    for (const key of [NORTH, SOUTH]) {
      expect(restarted.today(key)?.counts).toEqual(branches.today(key)?.counts);
    }
    expect(restarted.state.past).toEqual(branches.state.past);
    expect(restarted.state.pasts).toEqual(branches.state.pasts);
    expect(isPastKnown(restarted.state)).toBe(true);
  });

  test.each([
    ['with other sums than those of the customer', /(,900000,\[)\d+/, '$11'],
    ['that is cut off', /.$/, ''],
  ])('reads again a row %s', async (_, from, to) => {
    const stored = await polled();
    const rows = stored.rows.map((row) => ({ ...row, content: row.content.replace(from, to) }));
    expect(rows).not.toEqual(stored.rows);
    const restarted = stored.restarted(rows);
    expect(await restarted.poll()).toBeGreaterThan(1);
    expect(isPastKnown(restarted.state)).toBe(true);
    for (const key of [NORTH, SOUTH]) {
      expect(restarted.pastTotals(key)).toEqual(stored.branches.pastTotals(key));
      expect(restarted.today(key)?.counts).toEqual(stored.branches.today(key)?.counts);
    }
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
});
