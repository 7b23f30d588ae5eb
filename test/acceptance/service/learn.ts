/**
 * What a service does where its documentation is silent and where neither `check --connect` nor one `query` shows it:
 * questions 3, 4, 10, 14 and 16 of docs/service.md#what-is-left-open. Requests only read.
 */
import { hourMs, instantOfWall, minuteMs } from '../local-time.ts';
import type { Answer, Client, Row, Span } from './client.ts';

/** What was learned of a question; 0 for what the exporter takes for granted. */
export interface Finding {
  readonly question: number;
  readonly learned: string;
}

/** Time after an event within which its record may still arrive. */
const SETTLED_MS = 15 * minuteMs;
const PART_MS = 5 * minuteMs;
const BESIDE_MS = 1_000;
/** Records whose times are looked for. */
const MAX_RECORDS = 5;
const TIMES = ['localTime', 'serverTime', 'clientTime'] as const;
const NAIVE = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/;

/** Returns the findings, in the order of the questions. Throws a ServiceFailure. */
export async function learn(client: Client, zone: string): Promise<readonly Finding[]> {
  const nowMs = Date.now();
  const statuses = { question: 14, learned: await learnStatuses(client, nowMs) };
  const busy = await busyHours(client, nowMs);
  if (busy === undefined) {
    const learned = 'nobody came within a week: the other questions need a library that is open';
    return [statuses, { question: 0, learned }];
  }
  return [
    ...(await learnEdges(client, busy, zone)),
    { question: 10, learned: await learnWidened(client, busy) },
    statuses,
    ...(await learnBranches(client, busy)),
  ];
}

/** Returns the two hours of the last week in which most people came; undefined if nobody did. */
async function busyHours(client: Client, nowMs: number): Promise<Span | undefined> {
  const endMs = Math.floor((nowMs - SETTLED_MS) / minuteMs) * minuteMs;
  for (let day = 1; day <= 7; day += 1) {
    const startMs = endMs - day * 24 * hourMs;
    const sums: number[] = [];
    for (let hour = 0; hour < 24; hour += 1) {
      const fromMs = startMs + hour * hourMs;
      sums.push(sumOf(await client.rows([fromMs, fromMs + hourMs], 'minute')));
    }
    const pairs = sums.slice(1).map((sum, i) => sum + (sums[i] ?? 0));
    const most = Math.max(...pairs);
    if (most > 0) {
      const first = pairs.indexOf(most);
      return [startMs + first * hourMs, startMs + (first + 2) * hourMs];
    }
  }
  return undefined;
}

/** 3 and 4: the edges of windows at whole minutes, and at the times of raw records. */
async function learnEdges(client: Client, busy: Span, zone: string): Promise<readonly Finding[]> {
  const atMinutes = await learnMinuteEdges(client, busy);
  const { status, rows } = await client.ask({
    ...client.window([busy[0], busy[0] + 2 * PART_MS]),
    limit: '100',
  });
  if (status !== 200) {
    const learned = `${atMinutes}; raw records are refused: status ${status}`;
    return [{ question: 3, learned }];
  }
  // Where a record arrived at once, its times are one for the service, too.
  const records = rows.toSorted((a, b) => delayOf(b) - delayOf(a)).slice(0, MAX_RECORDS);
  const counting: string[] = [];
  let edges = 'unknown at the time of a record';
  for (const field of TIMES) {
    for (const instantOf of READINGS) {
      const atMs = records.map((record) => instantOf(String(record[field]), zone));
      if (!counting.includes(field) && (await areThere(client, records, atMs))) {
        edges = counting.length === 0 ? await edgesAt(client, records[0], atMs[0] ?? NaN) : edges;
        counting.push(field);
      }
    }
  }
  const fields = counting.map((field) => `\`${field}\``).join(' or ');
  const learned = fields === '' ? 'no time of a record is the one that counts' : `${fields} counts`;
  return [
    { question: 3, learned: `${edges}; ${atMinutes}` },
    { question: 4, learned },
  ];
}

/** Returns the milliseconds that a record took to the service; 0 if its times cannot be read. */
function delayOf({ serverTime, clientTime }: Row): number {
  return Date.parse(String(serverTime)) - Date.parse(String(clientTime)) || 0;
}

/** Compares windows of ten minutes with their halves, which meet at a whole minute. */
async function learnMinuteEdges(client: Client, [fromMs, toMs]: Span): Promise<string> {
  let doubled = 0;
  for (let partMs = fromMs; partMs < toMs; partMs += 2 * PART_MS) {
    const [middleMs, endMs] = [partMs + PART_MS, partMs + 2 * PART_MS];
    doubled +=
      sumOf(await client.rows([partMs, middleMs], 'minute')) +
      sumOf(await client.rows([middleMs, endMs], 'minute')) -
      sumOf(await client.rows([partMs, endMs], 'minute'));
  }
  if (doubled === 0) {
    return 'windows that meet at a whole minute count nobody twice and leave nobody out';
  }
  return doubled > 0
    ? `windows that meet at a whole minute include both edges: ${doubled} are counted twice`
    : `windows that meet at a whole minute exclude both edges: ${-doubled} are left out`;
}

/** How a time is read: as it is written, or without a zone as local time or as UTC. */
const READINGS: readonly ((text: string, zone: string) => number)[] = [
  (text) => (/(Z|[+-]\d\d:?\d\d)$/.test(text) ? Date.parse(text) : NaN),
  (text, zone) => (NAIVE.test(text) ? instantOfWall(Date.parse(`${text}Z`), zone) : NaN),
  (text) => (NAIVE.test(text) ? Date.parse(`${text}Z`) : NaN),
];

/** Whether each record is in a window around its time. */
async function areThere(client: Client, records: readonly Row[], atMs: readonly number[]) {
  for (const [i, ms] of atMs.entries()) {
    const isThere =
      !Number.isNaN(ms) && (await has(client, [ms - BESIDE_MS, ms + BESIDE_MS], records[i]));
    if (!isThere) {
      return false;
    }
  }
  return records.length > 0;
}

async function has(client: Client, span: Span, record: Row | undefined): Promise<boolean> {
  const { rows } = await client.ask({ ...client.window(span), limit: '100' });
  return rows.some(({ id }) => id === record?.['id']);
}

async function edgesAt(client: Client, record: Row | undefined, atMs: number): Promise<string> {
  const isFrom = await has(client, [atMs, atMs + BESIDE_MS], record);
  const isTo = await has(client, [atMs - BESIDE_MS, atMs], record);
  return `\`from\` ${isFrom ? 'includes' : 'excludes'} its edge, \`to\` ${isTo ? 'includes' : 'excludes'} it`;
}

/** 10: five minutes of three days ago by `day` and `quarter`, against `minute`. */
async function learnWidened(client: Client, [fromMs]: Span): Promise<string> {
  const startMs = fromMs - 3 * 24 * hourMs + PART_MS;
  const span = [startMs, startMs + PART_MS] as const;
  const byMinute = sumOf(await client.rows(span, 'minute'));
  const found: string[] = [];
  for (const aggregation of ['day', 'quarter']) {
    const sum = sumOf(await client.rows(span, aggregation));
    found.push(
      sum > byMinute
        ? `windows of \`${aggregation}\` are widened: ${sum} counts in place of ${byMinute}`
        : `windows of \`${aggregation}\` are as requested`,
    );
  }
  return found.join('; ');
}

async function learnStatuses(client: Client, nowMs: number): Promise<string> {
  const window = client.window([nowMs - hourMs, nowMs]);
  const answers = [
    ['without a token', await client.ask({ aggregation: 'day' }, false)],
    ['`aggregation` with `limit`', await client.ask({ ...window, aggregation: 'day', limit: '9' })],
    ['`to` without `from`', await client.ask({ aggregation: 'day', to: window.to })],
    ['an unknown aggregation', await client.ask({ ...window, aggregation: 'century' })],
  ] as const;
  return answers
    .map(([what, { status, contentType }]) => `${what}: ${status} (${mediaType(contentType)})`)
    .join('; ');
}

/** Returns a content type without its parameters, if it is a usual one: it is the service's text. */
function mediaType(contentType: string): string {
  const [type = ''] = contentType.toLowerCase().split(/\s*;/);
  return /^(text|application)\/[a-z]+(\+json)?$/.test(type) ? type : 'another content type';
}

/** 16, and whether windows of branches add up, as occupancy of branches takes for granted. */
async function learnBranches(client: Client, [fromMs, toMs]: Span): Promise<readonly Finding[]> {
  const middleMs = (fromMs + toMs) / 2;
  const early = await client.rows([fromMs, middleMs], 'branch');
  const late = await client.rows([middleMs, toMs], 'branch');
  const whole = await client.rows([fromMs, toMs], 'branch');
  const keys = new Set(whole.rows.map(({ key }) => key));
  const types = new Set(Array.from(keys, (key) => (typeof key === 'number' ? 'number' : 'text')));
  const wrong = [...keys].filter(
    (key) => sumOf(early, key) + sumOf(late, key) !== sumOf(whole, key),
  );
  const added =
    wrong.length === 0
      ? `add up for all ${keys.size} branches`
      : `do not add up for ${wrong.length} of ${keys.size} branches`;
  const minutes = sumOf(await client.rows([fromMs, toMs], 'minute'));
  return [
    { question: 16, learned: `the \`key\` of a branch is a ${[...types].join(' or a ')}` },
    {
      question: 0,
      learned: `windows of branches: the two halves of two busy hours ${added}; all of them have ${sumOf(whole)} counts, \`minute\` has ${minutes}`,
    },
  ];
}

/** Returns the sum of the counts of a response, or of those with a key. */
function sumOf({ rows }: Answer, key?: unknown): number {
  return rows
    .filter((row) => key === undefined || row['key'] === key)
    .flatMap((row) => [row['in'], row['out']])
    .reduce<number>((sum, count) => sum + (typeof count === 'number' ? count : 0), 0);
}
