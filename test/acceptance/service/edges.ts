/** Questions 3, 4, 17, 18 and 19: the edges of windows, and what raw records show. */
import { minuteMs } from '../local-time.ts';
import type { Answer } from './client.ts';
import { instantOfLocal } from './keys.ts';
import { shown, sumOf } from './study.ts';
import type { Finding, Row, Span, Study } from './study.ts';

/** The fields of a raw record of people, by docs/service.md#people-counts. */
const FIELDS = [
  'id',
  'amount',
  'name',
  'localTime',
  'serverTime',
  'clientTime',
  'category',
  'libraryControllerState',
  'customerId',
  'branchId',
  'clientId',
  'deviceId',
] as const;
const TIMES = ['localTime', 'serverTime', 'clientTime'] as const;
const PART_MS = 5 * minuteMs;
const BESIDE_MS = 1_000;
/** Records whose times are looked for. */
const MAX_RECORDS = 5;

export async function learnEdges(
  study: Study,
  [fromMs, toMs]: readonly [number, number],
): Promise<readonly Finding[]> {
  const atMinutes = await learnMinuteEdges(study, [fromMs, toMs]);
  const page = await rawPage(study, [fromMs, fromMs + 2 * PART_MS]);
  if (page.status !== 200 || page.metadata['aggregation'] !== undefined) {
    const why =
      page.status === 200
        ? `\`${shown(page.metadata['aggregation'])}\` is forced in place of raw records`
        : `raw records are refused: status ${page.status}`;
    return [{ question: 3, learned: `${atMinutes}; ${why}` }];
  }
  return [...(await learnRecords(study, page, atMinutes)), ...(await learnPages(study, fromMs))];
}

/** Windows of ten minutes against their halves, which meet at a whole minute. */
async function learnMinuteEdges(
  study: Study,
  [fromMs, toMs]: readonly [number, number],
): Promise<string> {
  let doubled = 0;
  let compared = 0;
  for (let partMs = fromMs; partMs < toMs; partMs += 2 * PART_MS) {
    const middleMs = partMs + PART_MS;
    const whole = await study.rows([partMs, middleMs + PART_MS], 'minute');
    if (whole.metadata['aggregation'] === 'minute') {
      const halves =
        (await study.sum([partMs, middleMs], 'minute')) +
        (await study.sum([middleMs, middleMs + PART_MS], 'minute'));
      doubled += halves - sumOf(whole);
      compared += 1;
    }
  }
  if (compared === 0) {
    return 'another aggregation than `minute` is forced for ten minutes';
  }
  if (doubled === 0) {
    return 'windows that meet at a whole minute count nobody twice and leave nobody out';
  }
  return doubled > 0
    ? `windows that meet at a whole minute include both edges: ${doubled} are counted twice`
    : `windows that meet at a whole minute exclude both edges: ${-doubled} are left out`;
}

function rawPage(study: Study, span: Span): Promise<Answer> {
  return study.ask(span, { limit: '100' });
}

async function learnRecords(
  study: Study,
  { rows }: Answer,
  atMinutes: string,
): Promise<readonly Finding[]> {
  const spread = rows
    .map((record) => ({ record, distanceMs: distanceOf(record, study.zone) }))
    .toSorted((a, b) => b.distanceMs - a.distanceMs)
    .slice(0, MAX_RECORDS)
    .map(({ record }) => record);
  const fitting: string[] = [];
  let edges: string | undefined;
  for (const field of TIMES) {
    for (const instantOf of READINGS) {
      const atMs = spread.map((record) => instantOf(String(record[field]), study.zone));
      if (!fitting.includes(field) && (await areThere(study, spread, atMs))) {
        fitting.push(field);
        edges ??= await edgesAt(study, spread[0], atMs[0] ?? NaN);
      }
    }
  }
  const missing = FIELDS.filter((field) => rows.some((record) => record[field] === undefined));
  const categories = new Set(rows.map(({ category }) => shown(category)));
  const states = new Set(rows.map((record) => shown(record['libraryControllerState'])));
  return [
    { question: 3, learned: `${edges ?? 'unknown at the time of a record'}; ${atMinutes}` },
    {
      question: 4,
      learned:
        fitting.length === 0
          ? 'no time of a record is the one that counts'
          : `${fitting.map((field) => `\`${field}\``).join(' or ')} counts; ${resolutionText(rows)}`,
    },
    {
      question: 17,
      learned: `\`category\`: ${[...categories].join(', ')}; \`libraryControllerState\`: ${[...states].join(', ')}`,
    },
    {
      question: 19,
      learned: missing.length === 0 ? `none in ${rows.length} records` : missing.join(', '),
    },
  ];
}

/** How a time is read: as it is written, or without a zone as local time or as UTC. */
const READINGS: readonly ((text: string, zone: string) => number)[] = [
  (text) => (/(Z|[+-]\d\d:?\d\d)$/.test(text) ? Date.parse(text) : NaN),
  (text, zone) => (isNaive(text) ? instantOfLocal(Date.parse(`${text}Z`), zone) : NaN),
  (text) => (isNaive(text) ? Date.parse(`${text}Z`) : NaN),
];

function isNaive(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(text);
}

/** How far the times of a record are apart. */
function distanceOf(record: Row, zone: string): number {
  const times = TIMES.map((field) => String(record[field])).map(
    (text) =>
      READINGS.map((instantOf) => instantOf(text, zone)).find((ms) => !Number.isNaN(ms)) ?? 0,
  );
  return Math.max(...times) - Math.min(...times);
}

/** Whether each record is in a window around its time. */
async function areThere(
  study: Study,
  records: readonly Row[],
  atMs: readonly number[],
): Promise<boolean> {
  for (const [i, ms] of atMs.entries()) {
    if (Number.isNaN(ms) || !(await has(study, [ms - BESIDE_MS, ms + BESIDE_MS], records[i]))) {
      return false;
    }
  }
  return records.length > 0;
}

async function has(study: Study, span: Span, record: Row | undefined): Promise<boolean> {
  const { rows } = await rawPage(study, span);
  return rows.some(({ id }) => id === record?.['id']);
}

async function edgesAt(study: Study, record: Row | undefined, atMs: number): Promise<string> {
  const isFrom = await has(study, [atMs, atMs + BESIDE_MS], record);
  const isTo = await has(study, [atMs - BESIDE_MS, atMs], record);
  return `\`from\` ${isFrom ? 'includes' : 'excludes'} its edge, \`to\` ${isTo ? 'includes' : 'excludes'} it`;
}

function resolutionText(rows: readonly Row[]): string {
  const times = rows.flatMap((record) => TIMES.map((field) => String(record[field])));
  const seconds = times.map((text) => Number(/T\d\d:\d\d:(\d\d(?:\.\d+)?)/.exec(text)?.[1] ?? 0));
  if (seconds.every((second) => second === 0)) {
    return 'times are whole minutes';
  }
  return seconds.every((second) => Number.isInteger(second))
    ? 'times are whole seconds'
    : 'times have fractions of seconds';
}

async function learnPages(study: Study, fromMs: number): Promise<readonly Finding[]> {
  const asked = 100_000;
  const answer = await study.ask([fromMs, fromMs + PART_MS], { limit: String(asked) });
  const small = await study.ask([fromMs, fromMs + PART_MS], { limit: '1' });
  const token = small.metadata['startToken'];
  const limit =
    answer.status === 200
      ? `\`limit\` ${asked} is answered with ${shown(answer.metadata['limit'])}`
      : `\`limit\` ${asked} is refused: status ${answer.status}`;
  const format =
    typeof token === 'string'
      ? `\`startToken\` has ${token.length} characters`
      : 'there was no second page';
  return [{ question: 18, learned: `${limit}; ${format}` }];
}
