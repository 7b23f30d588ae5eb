/** A stream of logins whose total is whatever a test says. */
import type { AggregatedResponse } from '../../src/base/model.ts';
import { Zone } from '../../src/counting/zone.ts';
import { CountedStream } from '../support/counted-stream.ts';
import { NOW_MS } from '../support/owner.ts';

/** Logins whose total since the epoch is whatever a test says; every other window holds nothing. */
export function countedStream(total: () => number, nowMs = NOW_MS): CountedStream {
  return new CountedStream(
    COPENHAGEN,
    nowMs,
    ({ aggregation }): AggregatedResponse => ({
      aggregation,
      // Without keys: neither occupancy nor last seen matters here.
      rows: [{ key: 'x', counts: [total()] }],
    }),
    'logins',
  );
}

export const COPENHAGEN = new Zone('Europe/Copenhagen');
