/**
 * A minimal service in memory for tests of counting, with the conventions that matter to counters as
 * switches. It shares no code with the simulator: one can show errors of the other.
 */
import type { Key, Question, AggregatedResponse, Row } from '../../src/base/model.ts';
import type { Zone } from '../../src/counting/zone.ts';

export interface SmallRecord {
  readonly eventMs: number;
  readonly arrivalMs: number;
  readonly counts: readonly number[];
}

export const SMALL_KEYS = [
  'iso_z',
  'iso_offset',
  'local',
  'utc',
  'seconds',
  'compact_local',
  'time_local',
  'minute_of_day_local',
] as const;

export interface SmallConventions {
  readonly key: (typeof SMALL_KEYS)[number];
  readonly fromMeans: 'event' | 'arrival';
  readonly fromInclusive: boolean;
  readonly designator: 'honoured' | 'ignored';
  /** Records younger than this are not in `day` yet. */
  readonly dayLagMs: number;
  readonly daySnaps: boolean;
  readonly quarterLagMs: number;
  /** Above so many rows, `day` is forced. */
  readonly mostRows: number;
  readonly listZeros: boolean;
  readonly resolutionMs: number;
}

const PLAIN: SmallConventions = {
  key: 'iso_z',
  fromMeans: 'event',
  fromInclusive: true,
  designator: 'honoured',
  dayLagMs: 0,
  daySnaps: false,
  quarterLagMs: 0,
  mostRows: 10_000,
  listZeros: false,
  resolutionMs: 1,
};

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export class SmallService {
  readonly records: SmallRecord[] = [];
  readonly conventions: SmallConventions;
  readonly #zone: Zone;
  readonly #kinds: number;

  constructor(zone: Zone, kinds: number, conventions: Partial<SmallConventions> = {}) {
    this.#zone = zone;
    this.#kinds = kinds;
    this.conventions = { ...PLAIN, ...conventions };
  }

  /** The service's own total from `fromMs` on, as of `nowMs`: by its own edges, without its lags. */
  total(fromMs: number, nowMs: number): number[] {
    return this.#sum(this.#arrived(nowMs).filter((record) => this.#isFrom(fromMs, record)));
  }

  answer(question: Question, nowMs: number): AggregatedResponse {
    const rows = this.#rows(question, question.aggregation, nowMs);
    return rows.length > this.conventions.mostRows && question.aggregation !== 'day'
      ? { aggregation: 'day', rows: this.#rows(question, 'day', nowMs) }
      : { aggregation: question.aggregation, rows };
  }

  #rows(question: Question, aggregation: string, nowMs: number): Row[] {
    const { dayLagMs, quarterLagMs, daySnaps, listZeros } = this.conventions;
    let fromMs = this.#readTimestamp(question.from);
    const toMs = question.to === undefined ? Infinity : this.#readTimestamp(question.to);
    if (aggregation === 'day' && daySnaps) {
      const wall = fromMs + this.#zone.offsetMsAt(fromMs);
      fromMs = this.#zone.instantOfWall(Math.floor(wall / DAY_MS) * DAY_MS);
    }
    const lagMs = aggregation === 'day' ? dayLagMs : aggregation === 'quarter' ? quarterLagMs : 0;
    const found = this.#arrived(nowMs - lagMs).filter((record) => {
      return this.#isFrom(fromMs, record) && this.#timeOf(record) < toMs;
    });
    const size =
      aggregation === 'day' ? DAY_MS : aggregation === 'quarter' ? 15 * MINUTE_MS : MINUTE_MS;
    const buckets = Map.groupBy(found, ({ eventMs }) => Math.floor(eventMs / size) * size);
    if (listZeros && aggregation === 'minute') {
      const first = Math.ceil(fromMs / size) * size;
      for (let ms = first; ms < Math.min(toMs, nowMs); ms += size) {
        buckets.set(ms, buckets.get(ms) ?? []);
      }
    }
    return [...buckets]
      .toSorted(([a], [b]) => a - b)
      .map(([ms, records]) => ({ key: this.#key(ms), counts: this.#sum(records) }));
  }

  #arrived(nowMs: number): SmallRecord[] {
    return this.records.filter(({ arrivalMs }) => arrivalMs <= nowMs);
  }

  #isFrom(fromMs: number, record: SmallRecord): boolean {
    const timeMs = this.#timeOf(record);
    return this.conventions.fromInclusive ? timeMs >= fromMs : timeMs > fromMs;
  }

  #timeOf({ eventMs, arrivalMs }: SmallRecord): number {
    const { fromMeans, resolutionMs } = this.conventions;
    const timeMs = fromMeans === 'event' ? eventMs : arrivalMs;
    return Math.floor(timeMs / resolutionMs) * resolutionMs;
  }

  #readTimestamp(text: string): number {
    return this.conventions.designator === 'honoured'
      ? Date.parse(text)
      : this.#zone.instantOfWall(Date.parse(`${text.slice(0, 19)}Z`));
  }

  #sum(records: readonly SmallRecord[]): number[] {
    return Array.from({ length: this.#kinds }, (_, kind) =>
      records.reduce((sum, { counts }) => sum + (counts[kind] ?? 0), 0),
    );
  }

  #key(ms: number): Key {
    const local = new Date(ms + this.#zone.offsetMsAt(ms)).toISOString();
    const utc = new Date(ms).toISOString();
    switch (this.conventions.key) {
      case 'iso_z':
        return utc;
      case 'iso_offset':
        return this.#zone.format(ms);
      case 'local':
        return local.slice(0, 19);
      case 'utc':
        return utc.slice(0, 16);
      case 'seconds':
        return ms / 1000;
      case 'compact_local':
        return Number(local.slice(0, 16).replaceAll(/\D/g, ''));
      case 'time_local':
        return local.slice(11, 16);
      case 'minute_of_day_local':
        return Number(local.slice(11, 13)) * 60 + Number(local.slice(14, 16));
    }
  }
}
