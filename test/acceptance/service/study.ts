/** Requests of one customer, with their times in one of three writings, and sums of what comes back. */
import { hourMs, minuteMs, offsetMs, wallMs } from '../local-time.ts';
import { ServiceFailure } from './client.ts';
import type { Answer, Client, Endpoint, Parameters } from './client.ts';

export const WRITINGS = ['offset', 'utc', 'local'] as const;
export type Writing = (typeof WRITINGS)[number];

/** From and to, in milliseconds; without `to`, the window is open. */
export type Span = readonly [fromMs: number, toMs?: number];

/** Windows this short are used whatever was forced. */
const MIN_PART_MS = 5 * minuteMs;
/** Time after an event within which its record may still arrive. */
export const SETTLED_MS = 15 * minuteMs;

/** Writes an instant; milliseconds only if there are any. */
export function timeText(atMs: number, zone: string, writing: Writing): string {
  if (writing === 'utc') {
    return new Date(atMs).toISOString().replace('.000', '');
  }
  const local = new Date(wallMs(atMs, zone)).toISOString().replace(/(\.000)?Z/, '');
  const offset = offsetMs(atMs, zone);
  const distance = new Date(Math.abs(offset)).toISOString().slice(11, 16);
  return writing === 'local' ? local : `${local}${offset < 0 ? '-' : '+'}${distance}`;
}

/** What was learned of a question of docs/service.md; 0 for what the exporter takes for granted. */
export interface Finding {
  readonly question: number;
  readonly learned: string;
}

export type Row = Answer['rows'][number];

/** Returns the sum of the counts of a row. */
export function countOf(row: Row): number {
  return [row['in'], row['out'], row['value']].reduce<number>(
    (sum, count) => sum + (typeof count === 'number' ? count : 0),
    0,
  );
}

/** Returns the sum of all counts of a response. */
export function sumOf({ rows }: Pick<Answer, 'rows'>): number {
  return rows.reduce((sum, row) => sum + countOf(row), 0);
}

/** Returns a value of the service as it may be shown: nothing long or odd. */
export function shown(value: unknown): string {
  const text = String(value);
  return /^[\w .:+/-]{1,40}$/.test(text) ? text : `(${text.length} other characters)`;
}

export class Study {
  readonly zone: string;
  /** How times are written from here on. */
  writing: Writing = 'offset';
  readonly endpoint: Endpoint = 'peoplecount';
  readonly client: Client;

  constructor(client: Client, zone: string) {
    this.client = client;
    this.zone = zone;
  }

  /** Returns the response with any status. */
  ask(
    span: Span | undefined,
    more: Parameters,
    { writing = this.writing, endpoint = this.endpoint } = {},
  ): Promise<Answer> {
    const [fromMs, toMs] = span ?? [];
    return this.client.get(endpoint, {
      ...(fromMs !== undefined && { from: timeText(fromMs, this.zone, writing) }),
      ...(toMs !== undefined && { to: timeText(toMs, this.zone, writing) }),
      ...more,
    });
  }

  /** Returns an aggregated response. Throws a ServiceFailure if the service refuses it. */
  async rows(span: Span, aggregation: string): Promise<Answer> {
    const answer = await this.ask(span, { aggregation });
    if (answer.status !== 200) {
      throw new ServiceFailure(
        `the service refuses aggregation=${aggregation} with from: status ${answer.status}`,
      );
    }
    return answer;
  }

  async sum(span: Span, aggregation: string): Promise<number> {
    return sumOf(await this.rows(span, aggregation));
  }

  /** Returns responses by `minute` for a window, in parts where another aggregation is forced. */
  async minutes([fromMs, toMs]: readonly [number, number]): Promise<
    readonly (Answer & { readonly fromMs: number; readonly toMs: number })[]
  > {
    const answer = await this.rows([fromMs, toMs], 'minute');
    if (answer.metadata['aggregation'] === 'minute' || toMs - fromMs <= MIN_PART_MS) {
      return [{ ...answer, fromMs, toMs }];
    }
    const middleMs = fromMs + Math.floor((toMs - fromMs) / 2 / minuteMs) * minuteMs;
    return [...(await this.minutes([fromMs, middleMs])), ...(await this.minutes([middleMs, toMs]))];
  }

  async minuteSum(span: readonly [number, number]): Promise<number> {
    const parts = await this.minutes(span);
    return parts.reduce((sum, part) => sum + sumOf(part), 0);
  }

  /** Returns the two hours of the last week in which most people came; undefined if nobody did. */
  async busyHours(nowMs: number): Promise<readonly [number, number] | undefined> {
    const endMs = Math.floor((nowMs - SETTLED_MS) / minuteMs) * minuteMs;
    for (let day = 1; day <= 7; day += 1) {
      const startMs = endMs - day * 24 * hourMs;
      if ((await this.sum([startMs, startMs + 24 * hourMs], 'minute')) > 0) {
        const sums: number[] = [];
        for (let hour = 0; hour < 24; hour += 1) {
          const fromMs = startMs + hour * hourMs;
          sums.push(await this.sum([fromMs, fromMs + hourMs], 'minute'));
        }
        const pairs = sums.slice(1).map((sum, i) => sum + (sums[i] ?? 0));
        const first = pairs.indexOf(Math.max(...pairs));
        return [startMs + first * hourMs, startMs + (first + 2) * hourMs];
      }
    }
    return undefined;
  }
}
