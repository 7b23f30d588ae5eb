/** What a stream does not accept at once, and what it shows meanwhile. */
import { describe, expect, test } from 'vitest';
import type { AggregatedResponse } from '../../src/base/model.ts';
import { countedPeople } from './counted.ts';

const EMPTY: AggregatedResponse = { aggregation: 'minute', rows: [] };

describe('a stream', () => {
  test('requests a response again that is lower than before, and uses the larger', async () => {
    const { counted, minutes, distort, truth } = countedPeople();
    await counted.poll();
    let glitches = 1;
    distort((reading) => (glitches-- > 0 ? EMPTY : reading));
    await minutes(1);
    expect(counted.asked).toHaveLength(2);
    expect(counted.totals()).toEqual(truth());
    expect(counted.today()).toEqual([7, 1]);
  });

  test('accepts a response without counts only at the third poll in a row', async () => {
    const { counted, minutes, distort } = countedPeople();
    await counted.poll();
    distort(() => EMPTY);
    await minutes(2);
    expect(counted.today()).toEqual([7, 1]);
    expect(counted.notes.filter((note) => note === 'empty_response_pending')).toHaveLength(2);
    await minutes(1);
    expect(counted.today()).toEqual([5, 0]);
    expect(counted.totals()).toEqual([47, 39]);
  });

  test('exports a first total of 0 only after a reconcile interval, at a low cost', async () => {
    const { counted, minutes, service } = countedPeople();
    service.records.length = 0;
    await counted.poll();
    await minutes(59);
    expect(counted.totals()).toEqual([undefined, undefined]);
    expect(counted.asked).toHaveLength(1);
    await minutes(1);
    expect(counted.totals()).toEqual([0, 0]);
    expect(counted.figures().occupancy).toBe(0);
  });

  test('exports a first total as soon as it has counts, whatever was empty before', async () => {
    const { counted, minutes, distort, truth } = countedPeople();
    distort((reading) => ({ ...reading, rows: [] }));
    await counted.poll();
    await minutes(10);
    expect(counted.totals()).toEqual([undefined, undefined]);
    distort((reading) => reading);
    await minutes(1);
    expect(counted.totals()).toEqual(truth());
  });
});
