/** People of one customer of the simulator, in memory: by default only those that a test records. */
import type { AggregatedResponse, KeyTimes, WindowQuery } from '../../src/base/model.ts';
import type { Conventions, KeyZone, MinuteKey } from '../../src/simulator/conventions.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { small } from '../simulator/support.ts';
import type { Small } from '../simulator/support.ts';
import { NOW_MS } from './owner.ts';

/** Forms of minute keys, by name, and the `service.key_times` that fits. */
export const MINUTE_KEYS = {
  'UTC with Z': iso('utc', 'Z', 'fraction'),
  'local time with offset': iso('customer', 'offset', 'second'),
  'local time': iso('customer', 'none', 'second'),
  'local time with a blank': iso('customer', 'none', 'minute', ' '),
  'UTC without Z': iso('utc', 'none', 'minute'),
  seconds: { form: 'epoch', unit: 's', type: 'number' },
  'milliseconds as text': { form: 'epoch', unit: 'ms', type: 'string' },
} as const satisfies Record<string, MinuteKey>;

function iso(
  zone: KeyZone,
  designator: 'offset' | 'Z' | 'none',
  precision: 'minute' | 'second' | 'fraction',
  separator: 'T' | ' ' = 'T',
) {
  return { form: 'iso', zone, designator, precision, separator } as const;
}

/** Returns the `service.key_times` that fits keys; any does if they explain themselves. */
export function fittingKeyTimes(minuteKey: MinuteKey | undefined): KeyTimes {
  const isUtc = minuteKey?.form === 'iso' && minuteKey.designator === 'none';
  return isUtc && minuteKey.zone === 'utc' ? 'utc' : 'local';
}

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
    const { metadata, result } = ask('/v1/peoplecount', query);
    const rows = result.map((row) => ({ key: row.key, counts: [row.in, row.out] }));
    return { aggregation: metadata.aggregation ?? '', rows };
  }
}
