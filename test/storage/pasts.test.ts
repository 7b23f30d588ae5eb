/** The past of a customer's streams over restarts: what is requested, and what is stored. */
import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/base/duration.ts';
import { isPastDue, updatePast } from '../../src/counting/customer-past.ts';
import type { Customer } from '../../src/counting/customer.ts';
import type { StoredDay } from '../../src/storage/database.ts';
import { Pasts } from '../../src/storage/pasts.ts';
import { CALENDAR } from '../support/owner.ts';
import { queryFrom } from '../support/responses.ts';
import type { Requested } from '../support/responses.ts';
import { StreamFixture } from '../counting/fixture.ts';

/** Half past eight, a Wednesday. */
const START_MS = Date.UTC(2026, 10, 18, 7, 30);

/** People that are polled and stored, over restarts. */
class StoredPeople {
  readonly people = new StreamFixture({
    startMs: START_MS,
    records: Array.from({ length: 30 }, (_, day) => [day * DAY_MS + HOUR_MS, [3, 2]] as const),
  });
  readonly #disk = new Map<string, StoredDay>();
  #pasts = this.#start();

  get customer(): Customer {
    return this.people.customer;
  }

  #start(): Pasts {
    const pasts = new Pasts({ daysOf: () => [...this.#disk.values()] }, () => [this.customer]);
    pasts.restore(this.customer);
    return pasts;
  }

  /** Writes what has changed. Returns the starts of the days that it writes. */
  write(all = false): readonly number[] {
    const days = [...this.#pasts.changedDays(all)];
    days.forEach((day) => this.#disk.set(day.stream, day));
    return days.map(({ dayStartMs }) => dayStartMs);
  }

  restart(): void {
    this.people.restart();
    this.#pasts = this.#start();
  }

  /** Polls, and then reads what is due of the past. Returns what was requested for it. */
  async poll(nowMs: number): Promise<readonly string[]> {
    const { people, customer } = this;
    people.nowMs = nowMs;
    await people.poll();
    const requests: Requested[] = [];
    const query = queryFrom((question) => people.respond(question), requests);
    if (isPastDue(customer, 'people', nowMs)) {
      await updatePast(customer, 'people', query, nowMs);
    }
    return requests.map(({ aggregation }) => aggregation);
  }
}

const TODAY = CALENDAR.dayAt(START_MS);

test('is read once; a restart within the day requests nothing', async () => {
  const stored = new StoredPeople();
  expect(await stored.poll(START_MS)).toEqual(['day', 'quarter', 'minute']);
  const { past } = stored.customer.streamOf('people').days;
  expect(past?.sums).toEqual([28 * 3, 28 * 2]);
  expect(stored.write()).toEqual([TODAY.startMs]);
  expect(stored.write()).toEqual([]);
  expect(stored.write(true)).toEqual([TODAY.startMs]);

  stored.restart();
  expect(await stored.poll(START_MS + HOUR_MS)).toEqual([]);
  expect(stored.customer.streamOf('people').days.past).toEqual(past);
  expect(stored.write()).toEqual([]);
});

test.each([
  ['the process stood still at the end of a day', 1, ['day', 'minute', 'day']],
  ['it stood still for three days', 3, ['day', 'quarter', 'minute', 'day']],
  ['it stood still for 28 days', 28, ['day', 'quarter', 'minute']],
])('reads the days that are missing if %s', async (_, days, expected) => {
  const stored = new StoredPeople();
  await stored.poll(START_MS);
  stored.write();
  const nowMs = START_MS + days * DAY_MS;
  for (let ms = START_MS; ms < nowMs; ms += HOUR_MS) {
    stored.people.record(ms, [1, 0]);
  }
  stored.restart();
  expect(await stored.poll(nowMs)).toEqual(expected);
  const { past } = stored.customer.streamOf('people').days;
  expect(past).toMatchObject({ today: CALENDAR.dayAt(nowMs), days: 28 });
});
