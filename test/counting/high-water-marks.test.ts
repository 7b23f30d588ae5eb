import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { counterOwner, HighWaterMarks, counterOfKey } from '../../src/counting/high-water-marks.ts';
import { damaged } from '../support/damage.ts';
import { NOVEMBER, NOW_MS, OCTOBER, OWNER } from '../support/owner.ts';
import { customerNamed } from '../support/polled.ts';

const DAY_MS = 86_400_000;
const DECEMBER = { startMs: NOVEMBER.endMs, endMs: Date.UTC(2027, 0, 1, 3), month: 24323 };

const IDENTITY = {
  service: 'https://s.example.org',
  client_id: 'riverside-api',
  customer: 'riverside',
};

const FORMAT = 'library-stats-exporter state';

/** A state file with these customers. */
function textOf(...customers: readonly unknown[]): string {
  return JSON.stringify({ format: FORMAT, version: 2, customers });
}

/** A customer with one period. */
function customerWith(counters: unknown, start = '2026-11-01T03:00:00.000Z'): object {
  return { ...IDENTITY, periods: { [start]: counters } };
}

const SEVEN = { logins: [7, NOW_MS] };

function serialized(marks: HighWaterMarks): string {
  return [...marks.serialize()].join('');
}

function restored(text: string) {
  const marks = new HighWaterMarks();
  const ignored = marks.restore(text);
  return { marks, ignored, value: marks.get(OWNER, 'logins')?.value };
}

describe('high-water marks', () => {
  test('do not decrease within a counting period', () => {
    const marks = new HighWaterMarks();
    for (const [period, value, highest] of [
      [NOVEMBER, 7, 7],
      [NOVEMBER, 6, 7],
      [NOVEMBER, 8, 8],
      [NOVEMBER, 8, 8],
      [DECEMBER, 0, 0],
    ] as const) {
      marks.update(OWNER, 'logins', period, value, NOW_MS);
      expect(marks.ofPeriod(OWNER, 'logins', period.startMs)?.value).toBe(highest);
    }
    expect(marks.changes).toBe(3);
  });

  test('are restored as they were, by service, client id and customer', () => {
    const marks = new HighWaterMarks();
    const owners = [
      counterOwner('a"b', 'c\\d', 'é,]\n'),
      counterOwner('https://other.example.org', 'riverside-api', 'riverside'),
      counterOwner('https://s.example.org', 'other-api', 'riverside'),
      counterOwner('https://s.example.org', 'riverside-api', 'hilltop'),
    ];
    owners.forEach((owner, i) => marks.update(owner, 'logins', NOVEMBER, 412 + i, NOW_MS));
    const again = restored(serialized(marks));
    expect(again.ignored).toBe(0);
    expect(again.marks.size).toBe(4);
    expect(again.value).toBeUndefined();
    for (const owner of owners) {
      expect(again.marks.get(owner, 'logins')).toEqual(marks.get(owner, 'logins'));
    }
  });

  test('of the running period and the one before are kept, over a restart too', () => {
    const marks = new HighWaterMarks();
    marks.update(OWNER, 'logins', OCTOBER, 900, NOW_MS);
    marks.update(OWNER, 'logins', NOVEMBER, 7, NOW_MS);
    const again = restored(serialized(marks)).marks;
    expect(again.get(OWNER, 'logins')?.value).toBe(7);
    again.update(OWNER, 'logins', NOVEMBER, 8, NOW_MS);
    expect(again.ofPeriod(OWNER, 'logins', OCTOBER.startMs)?.value).toBe(900);
    again.update(OWNER, 'logins', DECEMBER, 1, NOW_MS);
    expect(again.ofPeriod(OWNER, 'logins', OCTOBER.startMs)).toBeUndefined();
  });

  test('of a period that has not begun are ignored, and kept', () => {
    const marks = new HighWaterMarks();
    const moved = { ...NOVEMBER, startMs: NOVEMBER.startMs - 5 * 3_600_000 };
    marks.update(OWNER, 'people_entered', moved, 900, NOW_MS);
    marks.update(OWNER, 'people_entered', DECEMBER, 3, DECEMBER.startMs);
    const customer = customerNamed('riverside', marks, { owner: OWNER });
    for (const [nowMs, period] of [
      [DECEMBER.startMs - 1, moved],
      [DECEMBER.startMs, DECEMBER],
      [DECEMBER.startMs - 1, moved],
    ] as const) {
      expect(customer.metricsAt(nowMs).periodStartMs).toBe(period.startMs);
    }
    expect(marks.size).toBe(2);
  });

  test('say when the newest of them was raised, also after a restart', () => {
    const marks = new HighWaterMarks();
    expect(marks.newestMs).toBe(-Infinity);
    marks.update(OWNER, 'logins', NOVEMBER, 7, NOW_MS);
    marks.update(OWNER, 'people_entered', NOVEMBER, 7, NOW_MS - 60_000);
    marks.update(OWNER, 'logins', NOVEMBER, 6, NOW_MS + 60_000);
    for (const one of [marks, restored(serialized(marks)).marks]) {
      expect(one.newestMs).toBe(NOW_MS);
    }
  });

  test('of the newest period are the first, whichever was updated last', () => {
    const marks = new HighWaterMarks();
    marks.update(OWNER, 'logins', NOVEMBER, 7, NOW_MS);
    marks.update(OWNER, 'logins', OCTOBER, 900, NOW_MS);
    expect(marks.get(OWNER, 'logins')?.value).toBe(7);
    expect(serialized(marks).match(/2026-1\d/g)).toEqual(['2026-11', '2026-10']);
  });

  test('of the newest period keep its start after a change of zone', () => {
    const marks = new HighWaterMarks();
    const november = { ...NOVEMBER, startMs: NOVEMBER.startMs - 5 * 3_600_000 };
    marks.update(OWNER, 'people_entered', OCTOBER, 900, NOW_MS);
    marks.update(OWNER, 'people_exited', november, 7, NOW_MS);
    const customer = customerNamed('riverside', marks, { owner: OWNER });
    expect(customer.metricsAt(NOW_MS).periodStartMs).toBe(november.startMs);
  });

  test('of keys are found by breakdown, counter and period, whatever the key', () => {
    const marks = new HighWaterMarks();
    const keys = ['101', '', 'a:b', 'people_exited:7', '"\\\n'];
    for (const key of keys) {
      marks.update(OWNER, counterOfKey('branch', 'people_entered', key), NOVEMBER, 7, NOW_MS);
    }
    marks.update(OWNER, counterOfKey('branch', 'people_exited', 'out'), NOVEMBER, 7, NOW_MS);
    marks.update(OWNER, counterOfKey('device', 'people_entered', 'door'), NOVEMBER, 7, NOW_MS);
    marks.update(OWNER, counterOfKey('branch', 'people_entered', 'old'), OCTOBER, 7, NOW_MS);
    marks.update(OWNER, 'people_entered', NOVEMBER, 9, NOW_MS);
    const other = counterOwner('https://s.example.org', 'riverside-api', 'hillside');
    marks.update(other, counterOfKey('branch', 'people_entered', 'theirs'), NOVEMBER, 7, NOW_MS);
    for (const one of [marks, restored(serialized(marks)).marks]) {
      const found = one.ofKeys(OWNER, 'branch', 'people_entered', NOVEMBER.startMs);
      expect([...found.keys()].toSorted()).toEqual(keys.toSorted());
      expect(one.ofKeys('nobody', 'branch', 'people_entered', NOVEMBER.startMs).size).toBe(0);
    }
  });

  test('are stored until another counter rises 70 days after the start of their period', () => {
    const marks = new HighWaterMarks();
    const other = counterOwner('https://s.example.org', 'hilltop-api', 'hilltop');
    marks.update(OWNER, 'logins', NOVEMBER, 7, NOW_MS);
    marks.update(other, 'logins', DECEMBER, 7, NOVEMBER.startMs + 70 * DAY_MS);
    expect(serialized(marks)).toContain('riverside');
    marks.update(other, 'logins', DECEMBER, 8, NOVEMBER.startMs + 70 * DAY_MS + 1);
    expect(serialized(marks)).not.toContain('riverside');
  });

  test('are written in chunks of whole customers', () => {
    function marksOf(keys: number): HighWaterMarks {
      const marks = new HighWaterMarks();
      for (let i = 0; i < keys; i += 1) {
        const owner = counterOwner('https://s.example.org', 'api', `library ${i % 3}`);
        const counter = counterOfKey('branch', 'people_entered', String(i));
        marks.update(owner, counter, NOVEMBER, 7, NOW_MS);
      }
      return marks;
    }
    expect([...marksOf(3).serialize()]).toHaveLength(1);
    expect([...marksOf(9_000).serialize()]).toHaveLength(4);
    expect(restored(serialized(marksOf(9_000))).marks.size).toBe(9_000);
  });
});

test('the state file has a counter on each line, by customer and period', () => {
  const marks = new HighWaterMarks();
  marks.update(OWNER, 'logins', OCTOBER, 900, NOW_MS);
  marks.update(OWNER, 'people_entered', NOVEMBER, 41, NOW_MS);
  marks.update(OWNER, counterOfKey('branch', 'people_entered', '101'), NOVEMBER, 5, NOW_MS);
  marks.update(OWNER, 'logins', NOVEMBER, 7, NOW_MS);
  expect(serialized(marks)).toBe(`\
{"format":"library-stats-exporter state","version":2,"customers":[
{"service":"https://s.example.org","client_id":"riverside-api","customer":"riverside","periods":{"2026-11-01T03:00:00.000Z":{
"logins":[7,1794996000000],
"people_entered":[41,1794996000000],
"branch_people_entered:101":[5,1794996000000]
},"2026-10-01T02:00:00.000Z":{
"logins":[900,1794996000000]
}}}
]}
`);
});

test('a state file with two other periods removes no mark of this process', () => {
  const periods = { '2026-10-01T02:00:00.000Z': SEVEN, '2026-11-01T10:00:00.000Z': SEVEN };
  const marks = new HighWaterMarks();
  marks.update(OWNER, 'logins', NOVEMBER, 412, NOW_MS);
  marks.restore(textOf({ ...IDENTITY, periods }));
  expect(marks.ofPeriod(OWNER, 'logins', NOVEMBER.startMs)?.value).toBe(412);
});

test('a state file of version 1 is read', () => {
  const names = ['https://s.example.org', 'riverside-api', 'riverside', 'logins'];
  const lines = [
    [...names, NOVEMBER.startMs, NOVEMBER.month, 7, NOW_MS],
    [...names, OCTOBER.startMs, OCTOBER.month, 900, NOW_MS],
    [...names, NOVEMBER.startMs, OCTOBER.month, 8, NOW_MS],
    [...names, NOVEMBER.startMs, DECEMBER.month, 8, NOW_MS],
    [...names.slice(0, 3), 7, NOVEMBER.startMs, NOVEMBER.month, 8, NOW_MS],
    null,
  ];
  const text = JSON.stringify({ format: FORMAT, version: 1, marks: lines });
  const { marks, ignored, value } = restored(text);
  expect({ size: marks.size, ignored, value }).toEqual({ size: 2, ignored: 4, value: 7 });
  expect(marks.ofPeriod(OWNER, 'logins', OCTOBER.startMs)?.value).toBe(900);
  marks.update(OWNER, 'logins', DECEMBER, 1, NOW_MS);
  expect(marks.ofPeriod(OWNER, 'logins', NOVEMBER.startMs)?.value).toBe(7);
});

test.each([
  ['of another program', { format: 'other', version: 2, customers: [] }],
  ['of another program, as version 1', { format: 'other', version: 1, marks: [] }],
  ['of a later version', { format: FORMAT, version: 3, customers: [], marks: [] }],
  ['without customers', { format: FORMAT, version: 2, customers: {} }],
  ['of version 1, without marks', { format: FORMAT, version: 1, customers: [], marks: {} }],
  ['of version 2, with marks', { format: FORMAT, version: 2, marks: [] }],
  ['with null', null],
])('a state file %s is an error', (_, file) => {
  expect(() => restored(JSON.stringify(file))).toThrow('not a library-stats-exporter state file');
});

describe('an entry of the state file', () => {
  test.each([
    ['2026-10-31T09:00:00.000Z', 7],
    ['2026-10-31T08:59:59.999Z', undefined],
    ['2026-11-02T13:00:00.000Z', 7],
    ['2026-11-02T13:00:00.001Z', undefined],
  ])('may have a period that starts at %s: %s', (start, expected) => {
    expect(restored(textOf(customerWith(SEVEN, start))).value).toBe(expected);
  });

  test('may have the value 0', () => {
    expect(restored(textOf(customerWith({ logins: [0, NOW_MS] }))).value).toBe(0);
  });

  test.each<[string, unknown]>([
    ['a value in quotes', customerWith({ logins: ['7', NOW_MS] })],
    ['a negative value', customerWith({ logins: [-1, NOW_MS] })],
    ['a fraction', customerWith({ logins: [7.5, NOW_MS] })],
    ['a value that is not a safe integer', customerWith({ logins: [2 ** 53, NOW_MS] })],
    ['a period that starts within a month', customerWith(SEVEN, '2026-11-04T03:00:00Z')],
    ['a period that is no time', customerWith(SEVEN, 'november')],
    ['an owner without a name', { ...customerWith(SEVEN), customer: null }],
    ['an owner without a service', { ...customerWith(SEVEN), service: 7 }],
    ['an owner without a client id', { ...customerWith(SEVEN), client_id: null }],
    ['null in the place of the periods', { ...IDENTITY, periods: null }],
    ['too few fields', customerWith({ logins: [7] })],
    ['too many fields', customerWith({ logins: [7, NOW_MS, 1] })],
    ['an object in the place of the value', customerWith({ logins: { value: 7 } })],
    ['a number in the place of the counters', customerWith(7)],
    ['no periods', IDENTITY],
    ['null', null],
  ])('with %s is ignored', (_, customer) => {
    const good = customerWith({ people_entered: [7, NOW_MS] });
    const { marks, ignored, value } = restored(textOf(customer, good));
    expect({ ignored, value }).toEqual({ ignored: 1, value: undefined });
    expect(marks.get(OWNER, 'people_entered')?.value).toBe(7);
  });

  test.each([[[5, 7, 6]], [[7, 5, 6]], [[5, 6, 7]]])(
    'that is there several times, with %j, counts as the highest',
    (values) => {
      const copies = values.map((copy) => customerWith({ logins: [copy, NOW_MS] }));
      const { marks, value } = restored(textOf(...copies));
      expect(value).toBe(7);
      expect(serialized(marks).match(/riverside-api/g)).toHaveLength(1);
    },
  );
});

/** Whether a text is restored; false after an Error. */
function restores(marks: HighWaterMarks, text: string): boolean {
  try {
    marks.restore(text);
    return true;
  } catch {
    return false;
  }
}

test('a damaged state file is an error or a state, which keeps later marks over the next start', () => {
  const counters = ['logins', counterOfKey('branch', 'people_entered', '101')] as const;
  const stored = new HighWaterMarks();
  for (const period of [OCTOBER, NOVEMBER]) {
    counters.forEach((counter, i) => stored.update(OWNER, counter, period, 412 + i, NOW_MS));
  }
  let states = 0;
  fc.assert(
    fc.property(damaged(serialized(stored)), fc.nat(1_000), (text, value) => {
      const marks = new HighWaterMarks();
      const isRestored = restores(marks, text);
      states += isRestored ? 1 : 0;
      expect(isRestored || marks.size === 0).toBe(true);
      counters.forEach((counter) => marks.update(OWNER, counter, NOVEMBER, value, NOW_MS));
      const again = restored(serialized(marks));
      expect(again).toMatchObject({ ignored: 0, marks: { size: marks.size } });
      for (const counter of counters) {
        const mark = again.marks.ofPeriod(OWNER, counter, NOVEMBER.startMs);
        expect(mark).toEqual(marks.ofPeriod(OWNER, counter, NOVEMBER.startMs));
        expect(mark?.value).toBeGreaterThanOrEqual(value);
        expect(again.marks.get(OWNER, counter)?.value).toSatisfy(Number.isSafeInteger);
      }
      expect(customerNamed('riverside', marks, { owner: OWNER }).metricsAt(NOW_MS)).toBeDefined();
    }),
    { seed: 46, numRuns: 1_000 },
  );
  expect(states).toBeGreaterThan(100);
});
