/** What docs/how-it-counts.md says that a case costs: by how much a counter is off, and until when. */
import { describe, expect, test } from 'vitest';
import type { Question } from '../../src/base/model.ts';
import { Zone } from '../../src/counting/zone.ts';
import { CountedStream, RECONCILE_MS } from '../support/counted-stream.ts';
import { SmallService } from '../support/small-service.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const COPENHAGEN = new Zone('Europe/Copenhagen');
/** A Wednesday, 11:00 in Copenhagen. */
const START_MS = Date.UTC(2026, 10, 18, 10);
const DECEMBER_MS = Date.UTC(2026, 11, 1, 3);

function worldOf() {
  const service = new SmallService(COPENHAGEN, 2);
  /** Called before each question is answered, with its number within the poll. */
  const before: { happens: (question: Question, number: number) => void } = {
    happens: () => {},
  };
  const counted = new CountedStream(COPENHAGEN, START_MS, (question, nowMs) => {
    before.happens(question, counted.asked.length);
    return service.answer(question, nowMs);
  });
  function record(eventMs: number, counts: readonly number[], arrivalMs = eventMs): void {
    service.records.push({ eventMs, arrivalMs, counts });
  }
  async function minutes(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      counted.nowMs += MINUTE_MS;
      await counted.poll();
    }
  }
  record(START_MS - 5 * 24 * HOUR_MS, [40, 38]);
  record(START_MS - 2 * HOUR_MS, [5, 0]);
  record(START_MS - 7 * MINUTE_MS, [2, 1]);
  return { service, counted, before, record, minutes };
}

describe('at the end of a month', () => {
  test('who comes after its last good poll is in no counter', async () => {
    const { counted, record, minutes } = worldOf();
    await counted.poll();
    record(DECEMBER_MS - MINUTE_MS, [3, 0]);
    counted.nowMs = DECEMBER_MS + MINUTE_MS;
    await minutes(3);
    expect(counted.totals()).toEqual([0, 0]);
  });

  test('a record that is shown after it is in no counter', async () => {
    const { counted, record, minutes } = worldOf();
    counted.nowMs = DECEMBER_MS - 2 * MINUTE_MS;
    await counted.poll();
    record(DECEMBER_MS - HOUR_MS, [3, 0], DECEMBER_MS + 5 * MINUTE_MS);
    await minutes(70);
    expect(counted.totals()).toEqual([0, 0]);
  });
});

describe('during an anchor, one record comes and another one is taken back', () => {
  test.each([
    [1, -1, 'high'],
    [-1, 1, 'low'],
  ])(
    '%i before the total is read and %i after it, and it is too %s',
    async (first, second, too) => {
      const { service, counted, before, minutes } = worldOf();
      function change(by: number): void {
        const [record] = service.records.splice(2, 1);
        const [entered = 0, exited = 0] = record?.counts ?? [];
        const changed = { eventMs: START_MS - 7 * MINUTE_MS, arrivalMs: START_MS - 7 * MINUTE_MS };
        service.records.push({ ...changed, counts: [entered + by, exited] });
      }
      before.happens = ({ aggregation, from }, number) => {
        if (aggregation === 'day' && number === 2) {
          change(first);
        } else if (number === 3 && !from.startsWith('2026-11-01')) {
          change(second);
        }
      };
      await counted.poll();
      before.happens = () => {};
      expect(counted.totals()).toEqual([47 + first, 39]);
      await minutes(30);
      expect(counted.totals()).toEqual([47 + first, 39]);
      await minutes(RECONCILE_MS / MINUTE_MS);
      expect(counted.totals()).toEqual([too === 'high' ? 48 : 47, 39]);
      expect(counted.held()).toEqual([too === 'high' ? 1 : 0, 0]);
    },
  );
});

describe('too high', () => {
  test('by less than is absurd is believed at once, and held until the total has caught up', async () => {
    const { service, counted, record, minutes } = worldOf();
    await counted.poll();
    record(START_MS + 1, [900, 0]);
    await minutes(1);
    service.records.pop();
    record(START_MS + 2 * MINUTE_MS, [300, 0]);
    await minutes(2);
    expect(counted.totals()).toEqual([947, 39]);
    expect(counted.held()).toEqual([600, 0]);
    expect(counted.today()).toEqual([307, 1]);
    record(counted.nowMs, [650, 0]);
    await minutes(1);
    expect(counted.totals()).toEqual([997, 39]);
    expect(counted.held()).toEqual([0, 0]);
  });
});

describe('too low', () => {
  test('at the first reading is made good by the next anchor', async () => {
    const { service, counted, before, minutes } = worldOf();
    const [old] = service.records;
    before.happens = ({ from }) => {
      if (from.startsWith('2026-11-01')) {
        service.records.shift();
      } else if (old !== undefined && !service.records.includes(old)) {
        service.records.unshift(old);
      }
    };
    await counted.poll();
    before.happens = () => {};
    expect(counted.totals()).toEqual([7, 1]);
    await minutes(30);
    expect(counted.totals()).toEqual([7, 1]);
    await minutes(RECONCILE_MS / MINUTE_MS);
    expect(counted.totals()).toEqual([47, 39]);
  });
});

describe('a service that forgets', () => {
  test('makes the counter stand still, and today goes on', async () => {
    const { service, counted, record, minutes } = worldOf();
    await counted.poll();
    service.records.shift();
    await minutes(61);
    record(counted.nowMs, [4, 2]);
    await minutes(1);
    expect(counted.totals()).toEqual([47, 39]);
    expect(counted.held()).toEqual([36, 36]);
    expect(counted.today()).toEqual([11, 3]);
  });
});
