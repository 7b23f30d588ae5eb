/**
 * Bugs that somebody could make, each as a change of one place in src. They exist in this table alone:
 * plant.ts puts one into the source as it is loaded. What the simulation is worth is how soon it finds
 * them.
 */
import type { DrawnWorld } from './drawn-world.ts';
import { hasPlainMinutes, mayBefall, mayLackRows } from './excuses.ts';
import {
  comesDuringAnchors,
  hasRepeatedHour,
  lacksRowsSeldom,
  mattersHowKeysAreRead,
  restartsAfterCorrections,
} from './showing.ts';

const MINUTE_MS = 60_000;

export interface PlantedBug {
  readonly name: string;
  /** In src. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Whether it can show in a world at all; default: in any. Worlds in which it cannot are not played. */
  readonly shows?: (world: DrawnWorld) => boolean;
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'no high-water mark',
    file: 'counting/high-water-marks.ts',
    find: 'held !== undefined && held >= value',
    replace: 'held !== undefined && held === value',
  },
  {
    name: 'marks not restored after a restart',
    file: 'counting/high-water-marks.ts',
    find: 'this.#put(owner, counter, { periodStartMs, month, value, atMs });',
    replace: '',
    shows: restartsAfterCorrections,
  },
  {
    name: 'marks not written when they change',
    file: 'counting/high-water-marks.ts',
    find: 'this.#changes += 1;',
    replace: '',
    shows: restartsAfterCorrections,
  },
  {
    name: 'marks of another epoch used',
    file: 'counting/high-water-marks.ts',
    find: 'const held = this.ofPeriod(owner, kind, periodStartMs)?.value;',
    replace: 'const held = this.get(owner, kind)?.value;',
  },
  {
    name: 'anchor kept while its window moved',
    file: 'counting/stream.ts',
    find: 'anchor: taken.keeps && sees ? anchor : undefined',
    replace: 'anchor',
    shows: comesDuringAnchors,
  },
  {
    name: 'window counted from the wrong start',
    file: 'counting/stream.ts',
    find: "askTwiceIfBelow(state.window, 'minute', anchor.windowStartMs)",
    replace: "askTwiceIfBelow(state.window, 'minute', anchor.windowStartMs + 300_000)",
  },
  {
    name: 'window reaches back before the day',
    file: 'counting/stream.ts',
    find: 'const came = minus(window.sums, anchor.window.sums);',
    replace:
      'const came = minus(window.sums, state0(anchor));\n  function state0(a: Anchor) { return a.day.startMs === a.windowStartMs ? [0, 0] : a.window.sums; }',
  },
  {
    name: 'window added twice',
    file: 'counting/stream.ts',
    find: 'const came = minus(window.sums, anchor.window.sums);',
    replace: 'const came = window.sums;',
  },
  {
    name: 'zero shown before the first reading',
    file: 'counting/shown.ts',
    find: 'record.shown[kind] : undefined',
    replace: 'record.shown[kind] : 0',
  },
  {
    name: 'failed poll taken for empty',
    file: 'polling/poll-job.ts',
    find: 'await client.query(question, stop.signal)',
    replace:
      "await client.query(question, stop.signal).catch(() => ({ aggregation: 'minute', rows: [] }))",
  },
  {
    name: 'a question that only the order of minutes needs fails the poll',
    file: 'counting/asking.ts',
    find: '!isTransient(error)',
    replace: 'true',
    shows: ({ conventions: { forced, rateLimit } }) =>
      forced.above === 'rows' && forced.limit <= 40 && rateLimit !== undefined,
  },
  {
    name: 'epoch switched at the poll',
    file: 'counting/shown.ts',
    find: 'snapshot?.epoch.startMs === epoch.startMs ? record',
    replace: 'snapshot !== undefined ? record',
  },
  {
    name: 'grace period at the change of the epoch',
    file: 'counting/calendar.ts',
    find: 'running.month < own.month',
    replace: 'running.month < own.month && nowMs - own.startMs > 3_600_000',
  },
  {
    name: "yesterday's figures after the day started",
    file: 'counting/shown.ts',
    find: 'snapshot?.day.startMs === dayStartMs ? at',
    replace: 'snapshot !== undefined ? at',
  },
  {
    name: 'minutes with one key de-duplicated',
    file: 'counting/minutes.ts',
    find: 'count + (counts[kind] ?? 0)',
    replace: 'Math.max(count, counts[kind] ?? 0)',
    shows: (world) =>
      hasPlainMinutes(world) &&
      mattersHowKeysAreRead(world) &&
      hasRepeatedHour(world) &&
      !mayLackRows(world) &&
      world.conventions.repeatedKeys === 'separate' &&
      world.intervalMs <= 10 * MINUTE_MS,
  },
  {
    name: 'local keys read as UTC',
    file: 'counting/keys.ts',
    find: ': instantOfWallIn(window, ms, zone);',
    replace: ': ms;',
    shows: (world) =>
      hasPlainMinutes(world) && mattersHowKeysAreRead(world) && world.intervalMs <= 10 * MINUTE_MS,
  },
  {
    name: 'offset of a zone kept over a change of the clock',
    file: 'counting/zone.ts',
    find: 'instantMs >= span.startMs && instantMs < span.endMs',
    replace: 'instantMs > 0',
  },
  {
    name: 'empty answer believed at once',
    file: 'counting/belief.ts',
    find: 'EMPTY_POLLS_BEFORE_BELIEF = 3',
    replace: 'EMPTY_POLLS_BEFORE_BELIEF = 1',
    shows: lacksRowsSeldom,
  },
  {
    name: 'lower answer not asked again',
    file: 'counting/asking.ts',
    find: 'expected === undefined || !anyBelow(first.sums, expected)',
    replace: 'true',
  },
  {
    name: 'a row skipped',
    file: 'service/decode.ts',
    find: 'result.map((row: unknown, index) =>',
    replace: 'result.slice(1).map((row: unknown, index) =>',
  },
  {
    name: 'lagging day aggregation trusted',
    file: 'counting/anchor.ts',
    find: 'return agrees ?',
    replace: 'return agrees || check ?',
  },
  {
    name: 'no reconciliation',
    file: 'counting/stream.ts',
    find: 'anchor.takenAtMonotonicMs < context.renewalMs',
    replace: 'ageMs < 0',
  },
  {
    name: 'two token requests at once',
    file: 'service/auth.ts',
    find: 'this.#pending ??= this.#requestToken()',
    replace: 'this.#pending = this.#requestToken()',
  },
  {
    name: 'refused credentials hammered',
    file: 'service/auth.ts',
    find: 'clock.monotonicMs() < refusal.untilMs',
    replace: 'clock.monotonicMs() < 0',
  },
  {
    name: 'Retry-After ignored',
    file: 'service/retry.ts',
    find: 'Math.ceil(this.#untilMs - this.#clock.monotonicMs())',
    replace: 'Math.ceil(this.#untilMs - this.#clock.monotonicMs() - 1e9)',
  },
  {
    name: 'refused token used on',
    file: 'service/auth.ts',
    find: 'if (this.#token === token) {',
    replace: 'if (this.#token === undefined) {',
    shows: (world) => mayBefall(world, 'tokens dropped'),
  },
  {
    name: 'occupancy below zero carried on',
    file: 'counting/minutes.ts',
    find: 'Math.max(0, inside + Math.max(0, entered) - Math.max(0, exited))',
    replace: 'inside + Math.max(0, entered) - Math.max(0, exited)',
  },
  {
    name: 'secret in the log',
    file: 'service/auth.ts',
    find: '`the service refused the credentials (status ${status}, ${code}): `',
    replace: '`the service refused ${clientSecret.reveal()} (status ${status}, ${code}): `',
  },
];
