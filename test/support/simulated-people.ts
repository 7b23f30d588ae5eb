/** People of one customer of the simulator, in memory: by default only those that a test records. */
import type { AggregatedResponse, WindowQuery } from '../../src/base/model.ts';
import type { Conventions, MinuteKey } from '../../src/simulator/conventions.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { small } from '../simulator/support.ts';
import type { Row, Small } from '../simulator/support.ts';
import { NOW_MS } from './owner.ts';

/** Formats of minute keys that are detected, by name. */
export const MINUTE_KEYS = {
  'UTC with Z': { form: 'iso', zone: 'utc', designator: 'Z', precision: 'fraction' },
  'local time with offset': {
    form: 'iso',
    zone: 'customer',
    designator: 'offset',
    precision: 'second',
  },
  'local time': { form: 'iso', zone: 'customer', designator: 'none', precision: 'second' },
  'UTC without Z': { form: 'iso', zone: 'utc', designator: 'none', precision: 'minute' },
  seconds: { form: 'epoch', unit: 's', type: 'number' },
  'compact local time': { form: 'compact', zone: 'customer', type: 'number' },
  'local time of day': { form: 'clock', zone: 'customer' },
  'local minute of day': { form: 'minute-of-day', zone: 'customer', type: 'number' },
} as const satisfies Record<string, MinuteKey>;

/** `day` has complete days only, as of last night. */
export const DAY_LAGS = { dayFreshness: 'nightly' } as const;

/** Windows with more rows than this have responses by `day`. */
export function forcedAbove(limit: number): Partial<Conventions> {
  return { forced: { above: 'rows', limit } };
}

export class SimulatedPeople {
  readonly #simulated: Small;

  constructor(conventions: Partial<Conventions> = {}, library: Partial<Library> = {}) {
    this.#simulated = small(conventions, { visitsPerDay: 0, ...library }, NOW_MS);
  }

  record(
    atMs: number,
    [entered = 0, exited = 0]: readonly number[],
    times: { readonly arrivesMs?: number; readonly goneMs?: number } = {},
  ): void {
    const records = [
      { kind: 'in', amount: entered },
      { kind: 'out', amount: exited },
    ] as const;
    for (const record of records.filter(({ amount }) => amount > 0)) {
      this.#simulated.service.record('lone', { ...record, atMs, ...times });
    }
  }

  /** The service's own total from `fromMs` on, as of `nowMs`: by its own edges, without its lags. */
  total(fromMs: number, nowMs: number): number[] {
    const { entered, exited } = this.#simulated.service.served('lone', fromMs, nowMs);
    return [entered, exited];
  }

  respond({ aggregation, from, to }: WindowQuery, nowMs: number): AggregatedResponse {
    const { clock, ask } = this.#simulated;
    clock.aheadMs = nowMs - NOW_MS;
    const query = { aggregation, from, ...(to !== undefined && { to }) };
    const { metadata, result } = ask<Row>('/v1/peoplecount', query);
    const rows = result.map((row) => ({ key: row.key, counts: [row.in, row.out] }));
    return { aggregation: metadata.aggregation ?? '', rows };
  }
}
