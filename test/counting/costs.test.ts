/** What docs/how-it-counts.md says that a case costs: by how much a counter is off, and until when. */
import { describe, expect, test } from 'vitest';
import { countedPeople, HOUR_MS, MINUTE_MS, RECONCILE_MS, START_MS } from './counted.ts';

const DECEMBER_MS = Date.UTC(2026, 11, 1, 3);

describe('at the end of a month', () => {
  test('who comes after its last good poll is in no counter', async () => {
    const { counted, record, minutes } = countedPeople();
    await counted.poll();
    record(DECEMBER_MS - MINUTE_MS, [3, 0]);
    counted.nowMs = DECEMBER_MS + MINUTE_MS;
    await minutes(3);
    expect(counted.totals()).toEqual([0, 0]);
  });

  test('a record that is shown after it is in no counter', async () => {
    const { counted, record, minutes } = countedPeople();
    counted.nowMs = DECEMBER_MS - 2 * MINUTE_MS;
    await counted.poll();
    record(DECEMBER_MS - HOUR_MS, [3, 0], DECEMBER_MS + 5 * MINUTE_MS);
    await minutes(70);
    expect(counted.totals()).toEqual([0, 0]);
  });
});

describe('during a baseline, one record comes and another one is taken back', () => {
  test.each([
    [1, -1, 'high'],
    [-1, 1, 'low'],
  ])(
    '%i before the total is read and %i after it, and it is too %s',
    async (first, second, too) => {
      const { service, counted, beforeResponse, minutes } = countedPeople();
      function change(by: number): void {
        const [record] = service.records.splice(2, 1);
        const [entered = 0, exited = 0] = record?.counts ?? [];
        const changed = { eventMs: START_MS - 7 * MINUTE_MS, arrivalMs: START_MS - 7 * MINUTE_MS };
        service.records.push({ ...changed, counts: [entered + by, exited] });
      }
      beforeResponse(({ aggregation, from }, number) => {
        if (aggregation === 'day' && number === 2) {
          change(first);
        } else if (number === 3 && !from.startsWith('2026-11-01')) {
          change(second);
        }
      });
      await counted.poll();
      beforeResponse(() => {});
      expect(counted.totals()).toEqual([47 + first, 39]);
      await minutes(30);
      expect(counted.totals()).toEqual([47 + first, 39]);
      await minutes(RECONCILE_MS / MINUTE_MS);
      expect(counted.totals()).toEqual([too === 'high' ? 48 : 47, 39]);
      expect(counted.excess()).toEqual([too === 'high' ? 1 : 0, 0]);
    },
  );
});

describe('too low', () => {
  test('at the first reading is made good by the next baseline', async () => {
    const { service, counted, beforeResponse, minutes } = countedPeople();
    const [old] = service.records;
    beforeResponse(({ from }) => {
      if (from.startsWith('2026-11-01')) {
        service.records.shift();
      } else if (old !== undefined && !service.records.includes(old)) {
        service.records.unshift(old);
      }
    });
    await counted.poll();
    beforeResponse(() => {});
    expect(counted.totals()).toEqual([7, 1]);
    await minutes(30);
    expect(counted.totals()).toEqual([7, 1]);
    await minutes(RECONCILE_MS / MINUTE_MS);
    expect(counted.totals()).toEqual([47, 39]);
  });
});
