/** Problems over restarts: what is stored of them, and when. */
import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import type { Customer } from '../../src/counting/customer.ts';
import type { StoredDay } from '../../src/storage/database.ts';
import { DailyRows } from '../../src/storage/daily-rows.ts';
import { LASTING_PROBLEMS } from '../../src/storage/lasting-problems.ts';
import { CALENDAR } from '../support/owner.ts';
import { customerNamed } from '../support/polled.ts';

const START_MS = Date.UTC(2026, 10, 18, 7, 30);
const { startMs: DAY_START_MS } = CALENDAR.dayAt(START_MS);

/** A customer that is stored, over restarts. */
class StoredRiverside {
  readonly disk: StoredDay[] = [];
  nowMs = START_MS;
  #customer = customerNamed('riverside');
  #problems = this.#start();

  get customer(): Customer {
    return this.#customer;
  }

  #start() {
    const problems = new DailyRows(
      LASTING_PROBLEMS,
      { daysOf: () => this.disk },
      () => [this.customer],
      () => this.nowMs,
    );
    problems.restore(this.customer);
    return problems;
  }

  /** Returns the content of what is written, and the start of its day. */
  write(all = false): readonly (readonly [number, string])[] {
    const rows = [...this.#problems.changedDays(all)];
    rows.forEach((row) => this.disk.splice(0, 1, row));
    return rows.map(({ dayStartMs, content }) => [dayStartMs, content]);
  }

  restart(): void {
    this.#customer = customerNamed('riverside');
    this.#problems = this.#start();
  }

  fail(nowMs: number) {
    this.nowMs = nowMs;
    this.customer.pollFailed('people', 'HTTP 503', nowMs);
    return this.customer.metricsAt(nowMs).problems;
  }
}

test('one that lasts is written once a day, and has its start after a restart', () => {
  const stored = new StoredRiverside();
  expect(stored.fail(START_MS)).toEqual([]);
  expect(stored.write()).toEqual([]);
  const failing = { kind: 'polls_failing', sinceMs: START_MS };
  expect(stored.fail(START_MS + 5 * MINUTE_MS)).toEqual([failing]);
  const content = JSON.stringify([[null, [failing]]]);
  expect(stored.write()).toEqual([[DAY_START_MS, content]]);
  expect(stored.write()).toEqual([]);
  expect(stored.write(true)).toEqual([[DAY_START_MS, content]]);

  stored.restart();
  expect(stored.write()).toEqual([]);
  expect(stored.fail(START_MS + DAY_MS)).toEqual([failing]);
  expect(stored.write()).toEqual([[DAY_START_MS + DAY_MS, content]]);
});

test('one that has ended is not', () => {
  const stored = new StoredRiverside();
  stored.fail(START_MS);
  stored.fail(START_MS + HOUR_MS);
  stored.write();
  stored.restart();
  stored.customer.pollSucceeded(
    'people',
    { state: stored.customer.streamOf('people').state, result: 'accepted' },
    START_MS + 2 * HOUR_MS,
  );
  expect(stored.customer.metricsAt(START_MS + 2 * HOUR_MS).problems).toEqual([]);
  expect(stored.write()).toEqual([[DAY_START_MS, '[]']]);
  expect(stored.write(true)).toEqual([]);
});

test('is restored with its number missed', () => {
  const problems = new Map([
    [null, [{ kind: 'nobody_counted', sinceMs: START_MS, missed: 7 } as const]],
  ]);
  const stored = new StoredRiverside();
  stored.customer.restoreProblems(problems);
  stored.write();
  stored.restart();
  expect(stored.customer.rememberedProblems).toEqual(problems);
});

test.each([
  'no JSON',
  '7',
  '[[]]',
  '[[null, 7]]',
  `[[null, [{ "kind": "constructor", "sinceMs": 7 }]]]`,
  `[[null, [{ "kind": "nobody_counted", "sinceMs": "7" }]]]`,
  `[[null, [{ "kind": "nobody_counted", "sinceMs": 7, "missed": -1 }]]]`,
])('what is damaged is ignored: %s', (content) => {
  const stored = new StoredRiverside();
  const { owner } = stored.customer;
  stored.disk.push({ owner, stream: 'problems', dayStartMs: DAY_START_MS, content });
  stored.restart();
  expect(stored.customer.rememberedProblems.size).toBe(0);
});
