import { expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import type { Row } from '../../../src/base/model.ts';
import { noteKeys } from '../../../src/counting/totals/key-notes.ts';
import { INITIAL_STATE } from '../../../src/counting/totals/state.ts';
import type { KeyNote, PollContext, Snapshot } from '../../../src/counting/totals/state.ts';
import { CALENDAR, NOW_MS } from '../../support/owner.ts';

/** A poll at noon in Copenhagen, of a window from nine o'clock on, that has risen by one. */
const POLL = {
  kind: 'recent' as 'recent' | 'baseline',
  rows: [] as readonly Row[],
  aggregation: 'minute',
  minutes: undefined as readonly Row[] | undefined,
  areRead: true,
  before: [1, 0] as readonly number[] | undefined,
  noted: undefined as KeyNote['kind'] | undefined,
};
const NOON_MS = NOW_MS + HOUR_MS;

function noteOf(changes: Partial<typeof POLL>): KeyNote | undefined {
  const { kind, rows, aggregation, minutes, areRead, before, noted } = { ...POLL, ...changes };
  const window = { startMs: NOON_MS - 3 * HOUR_MS, endMs: NOON_MS };
  const response = { aggregation, rows, sums: [2, 0], window, toMs: undefined };
  return noteKeys(
    { ...INITIAL_STATE, keysNoted: noted, recent: before },
    { kind, recent: response, minutes: minutes && [{ ...response, rows: minutes }] },
    { minutes: areRead ? { endMs: NOON_MS } : undefined } as Snapshot,
    { calendar: CALENDAR, keyTimes: 'local' } as PollContext,
  );
}

/** A row so many minutes after noon, whose key has no offset. */
function row(minutes: number, count = 1): Row {
  const local = new Date(NOON_MS + HOUR_MS + minutes * MINUTE_MS).toISOString();
  return { key: local.slice(0, 16), counts: [count, 0] };
}

test.each<[string, Partial<typeof POLL>, number | undefined]>([
  ['half an hour after now', { rows: [row(30)] }, 0.5],
  ['a little less after now', { rows: [row(29)] }, undefined],
  ['further than zones differ', { rows: [row(15 * 60)] }, undefined],
  ['older than the window by more than half an hour', { rows: [row(-211)] }, -3.5],
  ['older by half an hour', { rows: [row(-210)] }, undefined],
  ['older, of totals that do not rise', { rows: [row(-300)], before: [2, 0] }, undefined],
  ['older, at the first poll', { rows: [row(-300)], before: undefined }, undefined],
  ['after now, in any order', { rows: [row(-60), row(60), row(0)] }, 1],
  ['now, with nobody after it', { rows: [row(0), row(60, 0)] }, undefined],
  ['after now, at a baseline', { rows: [row(60)], kind: 'baseline' }, undefined],
  ['after now, noted before', { rows: [row(60)], noted: 'keys_off_clock' }, undefined],
  ['after now, with its offset', { rows: [{ ...row(0), key: '2026-11-18T14:00Z' }] }, undefined],
  ['no key of a time', { rows: [{ key: 'x', counts: [1, 0] }] }, undefined],
])('the newest minute is %s', (_, poll, hours) => {
  const note = noteOf(poll);
  expect(note?.kind === 'keys_off_clock' ? note.hours : note).toBe(hours);
});

test.each<[string, Partial<typeof POLL>, string | undefined]>([
  ['of the newest minutes', { rows: [row(0), { key: 'x', counts: [1, 0] }] }, '"x"'],
  ['of a baseline', { kind: 'baseline', minutes: [{ key: 'y', counts: [1, 0] }] }, '"y"'],
  ['of days', { aggregation: 'day', rows: [{ key: 'x', counts: [1, 0] }] }, undefined],
  ['that was noted', { rows: [{ key: 'x', counts: [1, 0] }], noted: 'keys_unreadable' }, undefined],
])('a key cannot be parsed: one %s', (_, poll, key) => {
  const note = noteOf({ ...poll, areRead: false });
  expect(note).toEqual(key === undefined ? undefined : { kind: 'keys_unreadable', key });
});
