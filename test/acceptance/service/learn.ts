/**
 * What a service does where its documentation is silent, by question of docs/service.md#what-is-left-open.
 * Requests only read. What nobody's visit shows is said to be unknown, not guessed.
 */
import { dayStart, hourMs, minuteMs, offsetMs } from '../local-time.ts';
import { mediaType } from './client.ts';
import type { Answer, Client } from './client.ts';
import { fittingReadings, KEY_READINGS } from './keys.ts';
import type { KeyReading } from './keys.ts';
import { learnEdges } from './edges.ts';
import { countOf, SETTLED_MS, shown, Study, sumOf, timeText, WRITINGS } from './study.ts';
import type { Finding, Writing } from './study.ts';

/** The 60 days that are asked for at once, so that an aggregation is forced. */
const LONG_MS = 60 * 24 * hourMs;
const OLDER_MS = 72 * hourMs;

/** Returns the findings, in the order of the questions. Throws a ServiceFailure. */
export async function learn(client: Client, zone: string): Promise<readonly Finding[]> {
  const study = new Study(client, zone);
  // The first response may be slow.
  await study.ask([Date.now() - hourMs], { aggregation: 'minute' });
  const sentMs = Date.now();
  const { dateMs } = await study.ask([sentMs - hourMs], { aggregation: 'minute' });
  const receivedMs = Date.now();
  const findings: Finding[] = [
    { question: 15, learned: clockText(dateMs - (sentMs + receivedMs) / 2) },
  ];
  const nowMs = Number.isNaN(dateMs) ? receivedMs : dateMs;
  findings.push({ question: 5, learned: await learnWritings(study, nowMs) });
  const busy = await study.busyHours(nowMs);
  if (busy === undefined) {
    const learned = 'nobody came within a week: most questions need a library that is open';
    return [...findings, { question: 0, learned }];
  }
  findings.push(
    ...(await learnMinutes(study, busy)),
    ...(await learnEdges(study, busy)),
    ...(await learnCoarse(study, busy, nowMs)),
    { question: 8, learned: await learnFirstDay(study) },
    { question: 12, learned: await learnForced(study, nowMs) },
    { question: 14, learned: await learnStatuses(study, nowMs) },
    ...(await learnBranches(study, busy)),
    { question: 13, learned: rateText(client) },
  );
  return findings.toSorted((a, b) => a.question - b.question);
}

function clockText(aheadMs: number): string {
  const seconds = Math.round(aheadMs / 1_000);
  if (Number.isNaN(seconds)) {
    return 'there is no Date header';
  }
  return Math.abs(seconds) <= 2
    ? 'the clock of the service is that of this machine'
    : `the clock of the service is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead' : 'behind'}`;
}

function rateText({ rateLimited, requests }: Client): string {
  return rateLimited === 0
    ? `none was met in ${requests} requests`
    : `status 429 for ${rateLimited} of ${requests} requests`;
}

/**
 * 5. Compares the same windows in three writings, and takes one of those that fit: a writing that is read too
 * late has nobody in the newest minutes, and one that is read too early has somebody in the future.
 */
async function learnWritings(study: Study, nowMs: number): Promise<string> {
  const { zone } = study;
  const offset = Math.abs(offsetMs(nowMs, zone));
  const longer = [
    [nowMs - 24 * hourMs, nowMs - 12 * hourMs],
    [nowMs - 18 * hourMs, nowMs - 6 * hourMs],
  ] as const;
  const refused: string[] = [];
  const sums = new Map<Writing, readonly number[]>();
  for (const writing of WRITINGS) {
    const answers = [await study.ask(longer[0], { aggregation: 'minute' }, { writing })];
    if (answers[0]?.status === 200) {
      answers.push(await study.ask(longer[1], { aggregation: 'minute' }, { writing }));
      sums.set(writing, answers.map(sumOf));
    } else {
      refused.push(`\`${writing}\` is refused (status ${answers[0]?.status})`);
    }
  }
  const answered = [...sums.keys()];
  const fitting = await fittingWritings(study, answered, nowMs, offset);
  study.writing = fitting?.[0] ?? answered[0] ?? 'offset';
  const counts = answered.map(
    (writing) => `\`${writing}\` ${sums.get(writing)?.reduce((sum, count) => sum + count)}`,
  );
  const shownCounts = [
    ...(counts.length === 0 ? [] : [`the same hours have these counts: ${counts.join(', ')}`]),
    ...refused,
  ].join('; ');
  if (offset === 0) {
    return `${shownCounts}. The zone's offset is 0 now, so the writings are one`;
  }
  if (fitting === undefined) {
    return `${shownCounts}. Nobody came in the last hours to compare with: ask again while it is open`;
  }
  const names = fitting.map((writing) => `\`${writing}\``).join(', ');
  const isHonoured = String(sums.get('offset')) === String(sums.get('utc'));
  return sums.has('offset') && sums.has('utc')
    ? `${shownCounts}. The offset is ${isHonoured ? 'honoured' : 'not honoured'}: \`request_times\` may be ${names}`
    : `${shownCounts}. \`request_times\` may be ${names}`;
}

/** So short that no other aggregation is forced. */
const RECENT_MS = 15 * minuteMs;
const MAX_RECENT_WINDOWS = 12;

/** Returns the writings that are read rightly; undefined if nobody came who could show it. */
async function fittingWritings(
  study: Study,
  writings: readonly Writing[],
  nowMs: number,
  offset: number,
): Promise<readonly Writing[] | undefined> {
  async function countIn(fromMs: number, writing: Writing): Promise<number> {
    const span = [fromMs, fromMs + RECENT_MS] as const;
    return sumOf(await study.ask(span, { aggregation: 'minute' }, { writing }));
  }
  const windows = Math.min(MAX_RECENT_WINDOWS, Math.floor(offset / RECENT_MS) - 1);
  for (let window = 1; window <= windows; window += 1) {
    const fromMs = nowMs - SETTLED_MS - window * RECENT_MS;
    const found: { readonly writing: Writing; readonly now: number; readonly ahead: number }[] = [];
    for (const writing of writings) {
      const now = await countIn(fromMs, writing);
      found.push({ writing, now, ahead: await countIn(fromMs + offset, writing) });
    }
    // Read too early, the window ahead is this one.
    const possible = found.filter(({ ahead }) => ahead === 0);
    const most = Math.max(0, ...possible.map(({ now }) => now));
    const right = possible.filter(({ now }) => now === most);
    if (most > 0) {
      return right.map(({ writing }) => writing);
    }
  }
  return undefined;
}

/** 1, 2 and 20. */
async function learnMinutes(
  study: Study,
  [fromMs, toMs]: readonly [number, number],
): Promise<readonly Finding[]> {
  const { zone } = study;
  const parts = await study.minutes([fromMs, toMs]);
  const byMinute = parts.filter(({ metadata }) => metadata['aggregation'] === 'minute');
  const readings = byMinute.reduce<readonly KeyReading[]>(
    (fitting, part) => fittingReadings(fitting, keysOf(part), [part.fromMs, part.toMs], zone),
    KEY_READINGS,
  );
  const rows = byMinute.flatMap((part) => part.rows);
  const example = shown(rows.find((row) => countOf(row) > 0)?.['key']);
  const isEmptyListed = rows.some((row) => countOf(row) === 0);
  const [part] = byMinute.filter((one) => one.rows.length > 1);
  return [
    { question: 1, learned: `${keyText(readings, byMinute.length)}, as in ${example}` },
    { question: 2, learned: isEmptyListed ? 'they are listed' : 'they are not listed' },
    ...(part === undefined
      ? []
      : [{ question: 20, learned: metadataText(part, [part.fromMs, part.toMs], study) }]),
  ];
}

function keysOf({ rows }: Answer): readonly string[] {
  return rows.filter((row) => countOf(row) > 0).map(({ key }) => String(key));
}

function keyText(readings: readonly KeyReading[], parts: number): string {
  if (parts === 0) {
    return 'no response by `minute` was to be had';
  }
  return readings.length === 0
    ? 'of no known format'
    : readings.map(({ name }) => name).join(', or ');
}

function metadataText(
  answer: Answer,
  [fromMs, toMs]: readonly [number, number],
  { zone, writing }: Study,
): string {
  const { count, from, to } = answer.metadata;
  const total = sumOf(answer);
  const meaning =
    count === undefined
      ? '`count` is absent'
      : count === answer.rows.length
        ? '`count` is the number of rows'
        : count === total
          ? '`count` is the sum of the counts'
          : '`count` is another number';
  const sent = [fromMs, toMs].map((atMs) => timeText(atMs, zone, writing));
  const isEcho = from === sent[0] && to === sent[1];
  const isInstant = Date.parse(String(from)) === fromMs && Date.parse(String(to)) === toMs;
  const times =
    from === undefined && to === undefined
      ? 'are absent'
      : isEcho
        ? 'are those of the request'
        : isInstant
          ? 'are the same instants in another writing'
          : 'are other times';
  return `${meaning}; \`from\` and \`to\` ${times}`;
}

/** 9, 10 and 11: what differs between `minute` and the coarser aggregations. */
async function learnCoarse(
  study: Study,
  [fromMs, toMs]: readonly [number, number],
  nowMs: number,
): Promise<readonly Finding[]> {
  const midnightMs = dayStart(nowMs, study.zone, '00:00');
  const freshness: string[] = [];
  const windows: string[] = [];
  const before = await study.minuteSum([midnightMs, nowMs]);
  for (const aggregation of ['day', 'quarter']) {
    const coarse = await study.sum([midnightMs], aggregation);
    const missing = before - coarse;
    freshness.push(
      missing > 0
        ? `\`${aggregation}\` lacks ${missing} of the ${before} counts of today`
        : `\`${aggregation}\` has all ${before} counts of today`,
    );
    const olderMs = fromMs - OLDER_MS + 5 * minuteMs;
    const span = [olderMs, olderMs + 5 * minuteMs] as const;
    const byMinute = await study.minuteSum(span);
    const widened = (await study.sum(span, aggregation)) - byMinute;
    windows.push(
      widened > 0
        ? `of \`${aggregation}\` are widened: ${byMinute + widened} counts in place of ${byMinute}`
        : `of \`${aggregation}\` are as requested`,
    );
  }
  const quarters = await study.rows([fromMs, toMs], 'quarter');
  const counted = quarters.rows.filter((row) => countOf(row) > 0).length;
  const asked = quarters.metadata['aggregation'] === 'quarter';
  return [
    { question: 9, learned: before === 0 ? 'nobody came today' : freshness.join('; ') },
    { question: 10, learned: `windows ${windows.join('; windows ')}` },
    {
      question: 11,
      learned: !asked
        ? `another aggregation was forced: ${shown(quarters.metadata['aggregation'])}`
        : counted > 1
          ? `15 minutes: two busy hours have ${counted} rows, the first one with the key ${shown(quarters.rows[0]?.['key'])}`
          : 'three months, or nobody came in more than one quarter-hour: two busy hours have one row',
    },
  ];
}

async function learnFirstDay(study: Study): Promise<string> {
  const answer = await study.ask(undefined, { aggregation: 'day' });
  return answer.status === 200
    ? `${answer.rows.length} days; the first row by \`day\` is ${shown(answer.rows[0]?.['key'])}`
    : `\`day\` without \`from\` is refused: status ${answer.status}`;
}

async function learnForced(study: Study, nowMs: number): Promise<string> {
  const answer = await study.ask([nowMs - LONG_MS], { aggregation: 'minute' });
  if (answer.status !== 200) {
    return `60 days by \`minute\` are refused: status ${answer.status}`;
  }
  const { aggregation } = answer.metadata;
  const size = `${answer.rows.length} rows, ${Math.ceil(answer.bytes / 1_000)} kB`;
  return aggregation === 'minute'
    ? `none for 60 days by \`minute\` (${size})`
    : `\`${shown(aggregation)}\` in place of \`minute\` for 60 days (${size})`;
}

async function learnStatuses(study: Study, nowMs: number): Promise<string> {
  const span = [nowMs - hourMs] as const;
  const to = timeText(nowMs, study.zone, study.writing);
  const answers = [
    ['without a token', await study.client.getWithoutToken('peoplecount', { aggregation: 'day' })],
    ['`aggregation` with `limit`', await study.ask(span, { aggregation: 'day', limit: '10' })],
    ['`to` without `from`', await study.ask(undefined, { aggregation: 'day', to })],
    ['an unknown aggregation', await study.ask(span, { aggregation: 'century' })],
  ] as const;
  return answers
    .map(([what, { status, contentType }]) => `${what}: ${status} (${mediaType(contentType)})`)
    .join('; ');
}

/** 16, and whether windows of branches add up, as occupancy of branches takes for granted. */
async function learnBranches(
  study: Study,
  [fromMs, toMs]: readonly [number, number],
): Promise<readonly Finding[]> {
  const middleMs = (fromMs + toMs) / 2;
  const [early, late, whole] = [
    await study.rows([fromMs, middleMs], 'branch'),
    await study.rows([middleMs, toMs], 'branch'),
    await study.rows([fromMs, toMs], 'branch'),
  ];
  if (whole.metadata['aggregation'] !== 'branch') {
    const learned = `windows of branches cannot be read: ${shown(whole.metadata['aggregation'])} is forced`;
    return [{ question: 0, learned }];
  }
  const keys = new Set(whole.rows.map(({ key }) => key));
  const types = new Set(Array.from(keys, (key) => (typeof key === 'number' ? 'number' : 'text')));
  const wrong = [...keys].filter(
    (key) => sumOfKey(early, key) + sumOfKey(late, key) !== sumOfKey(whole, key),
  );
  const byMinute = await study.minuteSum([fromMs, toMs]);
  const total = sumOf(whole);
  const added =
    wrong.length === 0
      ? `the two halves of two busy hours add up for all ${keys.size} branches`
      : `the two halves of two busy hours do not add up for ${wrong.length} of ${keys.size} branches`;
  const compared =
    total === byMinute
      ? `all of them have the ${total} counts of \`minute\``
      : `all of them have ${total} counts, \`minute\` has ${byMinute}`;
  return [
    { question: 16, learned: `the \`key\` of a branch is a ${[...types].join(' or a ')}` },
    { question: 0, learned: `windows of branches: ${added}; ${compared}` },
  ];
}

function sumOfKey(answer: Answer, key: unknown): number {
  return sumOf({ ...answer, rows: answer.rows.filter((row) => row['key'] === key) });
}
