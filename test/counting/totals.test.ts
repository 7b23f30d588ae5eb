/** The total read by the minute in pieces, of a service that is busy at every chunk boundary. */
import { expect, test } from 'vitest';
import type { Question, AggregatedResponse } from '../../src/base/model.ts';
import { MINUTE_MS } from '../../src/counting/calendar.ts';
import { WindowReader } from '../../src/counting/query.ts';
import { totalByMinute } from '../../src/counting/totals.ts';
import { Zone } from '../../src/counting/zone.ts';
import { queryFrom } from '../support/ask.ts';

const START_MS = Date.UTC(2026, 10, 18, 4);
const END_MS = START_MS + 24 * 60 * MINUTE_MS;
const MOST_MINUTES = 300;

interface Edges {
  readonly from: 'inclusive' | 'exclusive';
  readonly to: 'inclusive' | 'exclusive';
}

/** Somebody came at the start of every minute: as many records are on a seam as can be. */
function answer(
  { from, to }: Question,
  edges: Edges,
  dayRows?: AggregatedResponse['rows'],
): AggregatedResponse {
  const fromMs = Date.parse(from);
  const toMs = to === undefined ? END_MS : Date.parse(to);
  const rows = [];
  for (let atMs = START_MS; atMs < END_MS; atMs += MINUTE_MS) {
    const begun = edges.from === 'inclusive' ? atMs >= fromMs : atMs > fromMs;
    const over = edges.to === 'inclusive' ? atMs > toMs : atMs >= toMs;
    if (begun && !over) {
      rows.push({ key: new Date(atMs).toISOString(), counts: [1, 0] });
    }
  }
  return rows.length > MOST_MINUTES
    ? { aggregation: 'day', rows: dayRows ?? rows }
    : { aggregation: 'minute', rows };
}

test.each<Edges>([
  { from: 'inclusive', to: 'exclusive' },
  { from: 'exclusive', to: 'inclusive' },
  { from: 'inclusive', to: 'inclusive' },
  { from: 'exclusive', to: 'exclusive' },
])('from $from, to $to: nobody at a chunk boundary is counted twice or left out', async (edges) => {
  expect(await total((question) => answer(question, edges))).toEqual([24 * 60, 0]);
});

test('a forced aggregation that has no counts yet is read by minute, too', async () => {
  const edges: Edges = { from: 'inclusive', to: 'exclusive' };
  expect(await total((question) => answer(question, edges, []))).toEqual([24 * 60, 0]);
});

test('an overlap that is empty for a moment does not make the total too high', async () => {
  const edges: Edges = { from: 'inclusive', to: 'exclusive' };
  for (let faulty = 0; faulty < 40; faulty++) {
    let requests = 0;
    const read = await total((question) => {
      const { from, to = '' } = question;
      const isOverlap = Date.parse(to) - Date.parse(from) === 2 * MINUTE_MS;
      const isFaulty = isOverlap && requests++ === faulty;
      return isFaulty ? { aggregation: 'minute', rows: [] } : answer(question, edges);
    });
    expect(read).toEqual([24 * 60, 0]);
  }
});

function total(respond: (question: Question) => AggregatedResponse): Promise<readonly number[]> {
  const reader = new WindowReader({
    query: queryFrom(respond),
    stream: 'people',
    zone: new Zone('UTC'),
    nowMs: () => END_MS,
  });
  return totalByMinute(reader, START_MS - MINUTE_MS);
}
