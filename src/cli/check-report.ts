/**
 * What `check --connect` prints: two tables on a terminal, elsewhere one line for each stream whose
 * fields are made for programs; then what was found, and what the configuration asks for.
 */
import { styleText } from 'node:util';
import { ServiceError } from '../base/errors.ts';
import { COUNTERS, MINUTE_STREAMS } from '../base/model.ts';
import type { CounterName, MinuteStream } from '../base/model.ts';
import { grandTotal } from '../counting/counts.ts';
import { Zone } from '../counting/zone.ts';
import { ageText, clockText, keysText, minuteText } from './check-words.ts';
import type { CustomerAnswers, StreamAnswer } from './connect.ts';
import type { Finding, Severity } from './findings.ts';

/** A finding, and the names of the customers whom it concerns. */
export interface Concern {
  readonly finding: Finding;
  readonly whom: readonly string[];
}

/** Of those who have the same, a person is told so many by name, and a program all. */
const MOST_NAMED = 8;
const ABSENT = '-';

/** Two tables of one row for each customer, each within 80 columns but for long names. */
export function tablesOf(answers: readonly CustomerAnswers[], isColoured: boolean): string {
  const service = [
    ['CUSTOMER', 'TOKEN', 'PEOPLE', 'LOGINS', 'KEYS', 'DAY', 'CLOCK'],
    ...answers.map((one) => [
      one.config.name,
      tokenText(one),
      newestText(one, 'people'),
      newestText(one, 'logins'),
      ofStreams(one, ({ outcome }) => keysText(outcome)),
      ofStreams(one, dayText),
      one.clock === undefined ? ABSENT : clockText(one.clock.aheadMs),
    ]),
  ];
  const exported = [
    ['CUSTOMER', 'ENTERED', 'EXITED', 'LOGINS', 'TODAY: IN', 'OUT', 'LOGINS', 'INSIDE'],
    ...answers.map((one) => [one.config.name, ...figuresOf(one).map(([, value]) => value)]),
  ];
  return [
    heading('The service: newest minute that counted anybody, local time', isColoured),
    ...aligned(service, 'left'),
    '',
    heading(
      'What would be exported: since the first day_starts_at of the month, and today',
      isColoured,
    ),
    ...aligned(exported, 'right'),
    '',
    '',
  ].join('\n');
}

/** One line of `name=value` for each stream of each customer, in the configuration's order. */
export function linesOf(answers: readonly CustomerAnswers[]): string {
  const lines = answers.flatMap((one) => {
    const zone = new Zone(one.config.timezone);
    return one.streams.map((answer) => {
      const { stream, outcome } = answer;
      const failed = outcome instanceof ServiceError;
      const lastSeenMs = failed ? undefined : outcome.lastSeenMs;
      const fields = {
        customer: one.config.name,
        stream,
        reason: failed ? outcome.reason : 'none',
        token: tokenText(one),
        newest: lastSeenMs === undefined ? ABSENT : zone.format(lastSeenMs),
        lag_seconds: lastSeenMs === undefined ? ABSENT : ageSeconds(one.atMs, lastSeenMs),
        keys: keysText(outcome),
        day: dayText(answer),
        clock_ahead_seconds: one.clock === undefined ? ABSENT : seconds(one.clock.aheadMs),
        since: zone.format(one.figures.periodStartMs),
        ...Object.fromEntries(figuresOf(one, stream)),
      };
      return Object.entries(fields)
        .map(([name, value]) => `${name}=${quoted(value)}`)
        .join(' ');
    });
  });
  return lines.map((line) => `${line}\n`).join('');
}

/** Each finding with those whom it concerns, and what to do. */
export function concernsText(
  concerns: readonly Concern[],
  { isTerminal, isColoured }: { readonly isTerminal: boolean; readonly isColoured: boolean },
): string {
  const most = isTerminal ? MOST_NAMED : Infinity;
  return concerns
    .map(({ finding: { severity, what, remedy }, whom }) => {
      const named = whom.slice(0, most).join(', ');
      const more = whom.length > most ? ` and ${whom.length - most} more` : '';
      const label = isColoured ? styleText(COLOURS[severity], severity, UNCHECKED) : severity;
      return `${label}: ${what}\n  whom: ${named}${more}\n  what to do: ${remedy}\n`;
    })
    .join('');
}

const UNCHECKED = { validateStream: false };
const COLOURS = { wrong: 'red', note: 'yellow' } as const satisfies Record<Severity, string>;

function heading(text: string, isColoured: boolean): string {
  return isColoured ? styleText('bold', text, UNCHECKED) : text;
}

/** Columns of equal width; the first one is always on the left. */
function aligned(rows: readonly (readonly string[])[], side: 'left' | 'right'): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  );
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return side === 'left' || column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .trimEnd(),
  );
}

function tokenText({ credentialsValid }: CustomerAnswers): string {
  return credentialsValid === undefined ? 'none' : credentialsValid ? 'good' : 'refused';
}

function newestText({ config, streams, atMs }: CustomerAnswers, stream: MinuteStream): string {
  const outcome = streams.find((answer) => answer.stream === stream)?.outcome;
  if (outcome === undefined) {
    return ABSENT;
  }
  if (outcome instanceof ServiceError) {
    return outcome.reason;
  }
  const { lastSeenMs, dating } = outcome;
  if (lastSeenMs === undefined) {
    return dating.status === 'unknown' ? 'unreadable' : 'none';
  }
  const minute = minuteText(lastSeenMs, atMs, new Zone(config.timezone));
  return `${minute} (${ageText(Math.max(0, atMs - lastSeenMs))})`;
}

/** What is true of all streams, or of each. */
function ofStreams({ streams }: CustomerAnswers, textOf: (answer: StreamAnswer) => string): string {
  return [...new Set(streams.map(textOf))].join(' / ');
}

function dayText({ outcome }: StreamAnswer): string {
  if (outcome instanceof ServiceError || outcome.day.agrees === undefined) {
    return ABSENT;
  }
  return outcome.day.agrees
    ? 'agrees'
    : `${grandTotal(outcome.day.byDay)} of ${grandTotal(outcome.day.byMinute)}`;
}

/** By name; those of one stream, or in the order of the table. */
function figuresOf(
  { figures: { counters, occupancy } }: CustomerAnswers,
  ...only: readonly MinuteStream[]
): readonly (readonly [name: string, value: string])[] {
  const streams = only.length === 0 ? MINUTE_STREAMS : only;
  const shown: readonly CounterName[] = streams.flatMap((stream) => COUNTERS[stream]);
  const totals = shown.map((kind) => [kind, known(counters[kind]?.total)] as const);
  const today = shown.map((kind) => [`${kind}_today`, known(counters[kind]?.today)] as const);
  const inside = [['occupancy', known(occupancy)] as const];
  return [...totals, ...today, ...(streams.includes('people') ? inside : [])];
}

function known(figure: number | undefined): string {
  return figure === undefined ? ABSENT : String(figure);
}

function ageSeconds(atMs: number, lastSeenMs: number): string {
  return seconds(Math.max(0, atMs - lastSeenMs));
}

function seconds(ms: number): string {
  return String(Math.round(ms / 1_000));
}

/** As it is where a reader of `name=value` cannot take it for anything else. */
function quoted(value: string): string {
  return /^[^\s\p{C}"=\\]+$/u.test(value) ? value : JSON.stringify(value);
}
