/** The customers' series: literal text, both formats, and when they are rendered again. */
import { once } from 'node:events';
import { createInflateRaw, gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BranchMetrics, CustomerMetrics } from '../../src/counting/customer-metrics.ts';
import { createExposition, renderCustomers, renderScrape } from '../../src/metrics/exposition.ts';
import type { Exposition } from '../../src/metrics/exposition.ts';
import type { Format } from '../../src/metrics/family.ts';
import { exposing, harbour, NOW_MS, riverside, setSources, textOf } from './fixtures.ts';

/** Samples, without the heads of their families. */
const TWO_CUSTOMERS = `\
library_site_info{customer="riverside",name="",timezone="Europe/Copenhagen",region="north"} 1
library_site_info{customer="harbour",name="",timezone="America/New_York",region=""} 1
library_utc_offset_seconds{customer="riverside"} 3600
library_utc_offset_seconds{customer="harbour"} -14400
library_period_start_timestamp_seconds{customer="riverside"} 1772334000
library_period_start_timestamp_seconds{customer="harbour"} 1772355600
library_period_info{customer="riverside",month="2026-03"} 1
library_period_info{customer="harbour",month="2026-03"} 1
library_open{customer="riverside"} 1
library_staffed{customer="riverside"} 0
library_capacity_people{customer="riverside"} 250
library_occupancy_people{customer="riverside"} 42
library_occupancy_estimate_people{customer="riverside"} 38.5
library_occupancy_estimate_lower_people{customer="riverside"} 33
library_occupancy_estimate_upper_people{customer="riverside"} 44.25
library_door_count_ratio{customer="riverside"} 1.04
library_people_entered_total{customer="riverside"} 12345
library_people_exited_total{customer="riverside"} 12301
library_logins_total{customer="riverside"} 3210
library_people_entered_today{customer="riverside"} 321
library_people_exited_today{customer="riverside"} 279
library_logins_today{customer="riverside"} 55
library_people_last_seen_timestamp_seconds{customer="riverside"} 1773133140
library_logins_last_seen_timestamp_seconds{customer="riverside"} 1773132300
library_people_entered_usual_hour{customer="riverside"} 33
library_people_entered_usual_today{customer="riverside"} 310.5
library_occupancy_usual_people{customer="riverside"} 47.5
library_inside_people{customer="riverside"} 39
library_people_entered_hour{customer="riverside"} 27
library_people_missed{customer="riverside"} 7.5
library_counts_trusted{customer="riverside"} 1
library_count_excess{customer="riverside",counter="people_entered"} 0
library_count_excess{customer="riverside",counter="people_exited"} 2
library_count_excess{customer="riverside",counter="logins"} 0
library_up{customer="riverside",stream="people"} 1
library_up{customer="riverside",stream="logins"} 0
library_poll_last_success_timestamp_seconds{customer="riverside",stream="people"} 1773133187.75
library_values_accepted_timestamp_seconds{customer="riverside",stream="people"} 1773133067.75
library_polls_total{customer="riverside",stream="people"} 100
library_polls_total{customer="riverside",stream="logins"} 0
library_polls_total{customer="harbour",stream="people"} 0
library_poll_failures_total{customer="riverside",stream="people"} 3
library_poll_failures_total{customer="riverside",stream="logins"} 0
library_poll_failures_total{customer="harbour",stream="people"} 0
library_polls_skipped_total{customer="riverside",stream="people"} 1
library_polls_skipped_total{customer="riverside",stream="logins"} 0
library_polls_skipped_total{customer="harbour",stream="people"} 0
library_credentials_valid{customer="riverside"} 1
`;

const WING = 'West "Wing"';
const BRANCHES: CustomerMetrics['breakdowns'] = {
  branch: {
    keys: [
      {
        key: WING,
        counters: {
          people_entered: { total: 400, excess: 0, today: 9 },
          people_exited: { total: 390, excess: 2, today: 4 },
        },
      },
    ],
    droppedKeys: 0,
  },
};

const BRANCHES_TEXT = `\
library_branch_people_entered_total{customer="riverside",branch="West \\"Wing\\""} 400
library_branch_people_exited_total{customer="riverside",branch="West \\"Wing\\""} 390
library_branch_count_excess{customer="riverside",branch="West \\"Wing\\"",counter="people_entered"} 0
library_branch_count_excess{customer="riverside",branch="West \\"Wing\\"",counter="people_exited"} 2
library_breakdown_keys_dropped{customer="riverside",stream="branch"} 0
`;

/** What a building has that is a branch: of riverside, with another key. */
const BUILDINGS: readonly BranchMetrics[] = [
  { ...riverside(), key: '101', name: 'Main Library', lastSeenMs: NOW_MS - 60_000 },
  { ...harbour(), key: WING, counters: {}, lastSeenMs: undefined, capacity: 80 },
];

/** Each series of a building of riverside, with its branch. */
const SITE_LINES = TWO_CUSTOMERS.split('\n').filter((line) =>
  /^library_(open|staffed|capacity|occupancy|door|inside|counts|people_(entered|exited)_(today|hour)|people_(last|missed)|people_.*usual)/.test(
    line,
  ),
);

function linesOf(exposition: Exposition, family: string, format: Format = 'text'): string[] {
  return textOf(exposition, format)
    .split('\n')
    .filter((line) => line.startsWith(family));
}

function samplesOf(exposition: Exposition, format?: Format): string {
  return textOf(exposition, format).replaceAll(/^#.*\n/gm, '');
}

/** Returns a whole response; the exporter's own metrics are one line. */
async function scrape(exposition: Exposition, format: Format, gzip: boolean): Promise<Buffer> {
  const exporterMetrics = { render: () => Promise.resolve('own 1\n') };
  return Buffer.concat(await renderScrape(exposition, exporterMetrics, format, gzip));
}

describe('the text', () => {
  test.each([
    ['text', 'library_logins_total'],
    ['openmetrics', 'library_logins'],
  ] as const)('as %s has what is known, each family below its head', (format, counter) => {
    const { exposition } = exposing(riverside(), harbour());
    const families = textOf(exposition, format).split(/^(?=# HELP )/m);
    expect(families).toContain(
      `# HELP ${counter} Patron logins since the counting period started.\n` +
        `# TYPE ${counter} counter\nlibrary_logins_total{customer="riverside"} 3210\n`,
    );
    for (const family of families) {
      expect(family).toMatch(/^# HELP (\w+) .+\n# TYPE \1 \w+\n(\1(_total)?\{.*\n)+$/);
    }
    expect(samplesOf(exposition, format)).toBe(TWO_CUSTOMERS);
  });

  test('has the families of branches at the end, as long as a customer has them', () => {
    const { exposition, sources } = exposing(riverside({ breakdowns: BRANCHES }), harbour());
    expect(samplesOf(exposition)).toBe(TWO_CUSTOMERS + BRANCHES_TEXT);
    sources.forEach((source) => (source.metrics = { ...source.metrics, breakdowns: {} }));
    setSources(exposition, sources);
    expect(textOf(exposition)).not.toMatch(/branch|breakdown/);
  });

  test('a building has a series of each of its gauges by branch, and its customer none', () => {
    const { exposition } = exposing(riverside({ branches: BUILDINGS }), harbour());
    const lines = samplesOf(exposition).split('\n');
    const first = SITE_LINES.map((line) => line.replace('"riverside"', '"riverside",branch="101"'));
    expect(first).toHaveLength(18);
    for (const line of SITE_LINES) {
      expect(lines).not.toContain(line);
    }
    expect(lines).toEqual(expect.arrayContaining(first));
    const second = 'library_capacity_people{customer="riverside",branch="West \\"Wing\\""} 80';
    expect(lines.filter((line) => line.includes('branch='))).toHaveLength(first.length + 3);
    expect(lines).toContain(second);
    expect(lines).toContain('library_people_entered_total{customer="riverside"} 12345');
  });

  test('has the problems of customers and of branches, while they last', () => {
    const problems = [{ kind: 'no_logins' as const, sinceMs: NOW_MS - 60_000 }];
    const silent = { kind: 'nobody_counted' as const, sinceMs: NOW_MS - 500, missed: 3 };
    const branches = BUILDINGS.map((building) => ({ ...building, problems: [silent] }));
    const { exposition } = exposing(
      riverside({ problems, branches, breakdowns: BRANCHES }),
      riverside({ customer: 'hilltop', problems: [...problems, silent] }),
    );
    expect(linesOf(exposition, 'library_problem_start_timestamp_seconds')).toEqual([
      'library_problem_start_timestamp_seconds{customer="riverside",problem="no_logins"} 1773133140',
      'library_problem_start_timestamp_seconds{customer="riverside",branch="101",name="Main Library",problem="nobody_counted"} 1773133199.5',
      'library_problem_start_timestamp_seconds{customer="riverside",branch="West \\"Wing\\"",name="West \\"Wing\\"",problem="nobody_counted"} 1773133199.5',
      'library_problem_start_timestamp_seconds{customer="hilltop",problem="no_logins"} 1773133140',
      'library_problem_start_timestamp_seconds{customer="hilltop",problem="nobody_counted"} 1773133199.5',
    ]);
  });

  test('has an info for each branch, by its name or its id, and one without `branch` until one is known', () => {
    const branches = [
      ...BUILDINGS,
      { ...harbour(), key: '9', counters: {}, lastSeenMs: undefined },
    ];
    const { exposition, sources } = exposing(riverside({ branches }));
    const rest = 'timezone="Europe/Copenhagen",region="north"} 1';
    expect(linesOf(exposition, 'library_site_info')).toEqual([
      `library_site_info{customer="riverside",branch="101",name="Main Library",${rest}`,
      String.raw`library_site_info{customer="riverside",branch="West \"Wing\"",name="West \"Wing\"",` +
        rest,
      `library_site_info{customer="riverside",branch="9",name="9",${rest}`,
    ]);
    sources.forEach((source) => (source.metrics = riverside({ branches: [] })));
    exposition.changed('riverside');
    expect(linesOf(exposition, 'library_site_info')).toEqual([
      `library_site_info{customer="riverside",name="",${rest}`,
    ]);
  });

  test('of devices has names of its own, and says where they are', () => {
    const place = { branch: '101', client: '7' };
    const seen = { lastSeenMs: NOW_MS, missed: 12.5 };
    const keys = [
      { key: 'door-1', counters: {}, device: { place, ...seen } },
      { key: 'door-2', counters: {}, device: { place: { ...place, branch: undefined }, ...seen } },
      { key: 'door-3', counters: {}, device: { place: undefined, ...seen } },
    ];
    const device = { ...BRANCHES.branch, keys, droppedKeys: 7 };
    const { exposition } = exposing(riverside({ breakdowns: { device } }));
    expect(linesOf(exposition, 'library_device_info')).toEqual([
      'library_device_info{customer="riverside",device="door-1",branch="101",client="7"} 1',
      'library_device_info{customer="riverside",device="door-2",client="7"} 1',
    ]);
    expect(linesOf(exposition, 'library_device_l')).toContain(
      'library_device_last_seen_timestamp_seconds{customer="riverside",device="door-1"} 1773133200',
    );
    expect(linesOf(exposition, 'library_device_p')).toContain(
      'library_device_people_missed{customer="riverside",device="door-1"} 12.5',
    );
    expect(linesOf(exposition, 'library_breakdown_keys_dropped')).toEqual([
      'library_breakdown_keys_dropped{customer="riverside",stream="device"} 7',
    ]);
    expect(textOf(exposition)).not.toMatch(/library_(device_occupancy|branch|client)/);
  });

  test('has escaped labels with the same names for every customer, sorted', () => {
    const { exposition } = exposing(
      riverside({ customer: 'a\\b"c\nd', labels: { zone: 'Århus "N"\n', constructor: 'x' } }),
      harbour({ labels: { area: 'west' } }),
    );
    expect(linesOf(exposition, 'library_site_info')).toEqual([
      String.raw`library_site_info{customer="a\\b\"c\nd",name="",timezone="Europe/Copenhagen",area="",constructor="x",zone="Århus \"N\"\n"} 1`,
      'library_site_info{customer="harbour",name="",timezone="America/New_York",area="west",constructor="",zone=""} 1',
    ]);
  });
});

describe('a scrape of customers', () => {
  test.each<[Format, string]>([
    ['text', ''],
    ['openmetrics', '# EOF\n'],
  ])('of all is the whole scrape as %s, but for the exporter metrics', async (format, end) => {
    const { exposition } = exposing(riverside(), harbour(), harbour({ customer: 'quay' }));
    const names = ['riverside', 'harbour', 'quay', 'harbour'];
    const text = String(Buffer.concat(renderCustomers(exposition, names, format, false) ?? []));
    expect(text).toBe(textOf(exposition, format) + end);
    const whole = String(await scrape(exposition, format, false));
    expect(whole).toBe(`${textOf(exposition, format)}own 1\n${end}`);
  });

  test('follows a change without a scrape of everything, and can be compressed', () => {
    const { exposition, sources } = exposing(riverside(), harbour());
    sources.forEach((source) => (source.metrics = riverside({ occupancy: 43 })));
    const plain = Buffer.concat(renderCustomers(exposition, ['riverside'], 'text', false) ?? []);
    expect(String(plain)).toContain('_people{customer="riverside"} 43\n');
    const [zipped = Buffer.of()] = renderCustomers(exposition, ['riverside'], 'text', true) ?? [];
    expect(gunzipSync(zipped)).toEqual(plain);
  });

  test('is nothing if one of them is unknown or removed; what was removed is in no scrape', () => {
    const { exposition, sources } = exposing(riverside(), harbour());
    expect(textOf(exposition)).toMatch(/riverside.*region/);
    expect(renderCustomers(exposition, ['riverside', ''], 'text', false)).toBeUndefined();
    setSources(exposition, sources.slice(1));
    expect(renderCustomers(exposition, ['riverside'], 'text', false)).toBeUndefined();
    expect(textOf(exposition)).not.toMatch(/riverside|region/);
  });
});

describe('a scrape', () => {
  test('with gzip is one gzip member, so that curl and browsers read all of it', async () => {
    const { exposition } = exposing(riverside(), harbour());
    const gzip = await scrape(exposition, 'text', true);
    const member = createInflateRaw();
    member.end(gzip.subarray(10));
    await once(member.resume(), 'end');
    expect(member.bytesWritten).toBe(gzip.length - 10 - 8);
  });

  test('after any changes has the text of a new exposition, compressed or not', async () => {
    const CUSTOMERS = 200;
    const change = fc.record({
      number: fc.nat(CUSTOMERS - 1),
      occupancy: fc.option(fc.nat(500), { nil: undefined }),
      isScraped: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 12 }), async (changes) => {
        const { exposition, sources, clock } = exposing(
          ...Array.from({ length: CUSTOMERS }, (_, i) => riverside({ customer: `Bücherei ${i}` })),
        );
        for (const { number, occupancy, isScraped } of changes) {
          const source = sources[number];
          if (source !== undefined) {
            source.metrics = { ...source.metrics, occupancy };
            exposition.changed(source.customer);
          }
          if (isScraped) {
            await scrape(exposition, 'text', true);
          }
        }
        const fresh = createExposition({ clock });
        setSources(fresh, sources);
        const expected = `${textOf(fresh)}own 1\n`;
        expect(String(gunzipSync(await scrape(exposition, 'text', true)))).toBe(expected);
        expect(String(await scrape(exposition, 'text', false))).toBe(expected);
      }),
      { numRuns: 6 },
    );
  });
});

describe('rendering', () => {
  test('is of the changed customer alone; what it did not change stays compressed', () => {
    const { exposition, sources } = exposing(riverside(), harbour());
    const before = exposition.render('text');
    const [source, other] = sources.map(({ asked }) => asked);
    sources.forEach((each) => (each.metrics = { ...each.metrics, occupancy: 43 }));
    exposition.changed('riverside');
    const after = exposition.render('text');
    expect(sources.map(({ asked }) => asked)).toEqual([Number(source) + 1, other]);
    const changed = after.filter((chunk) => !before.includes(chunk));
    expect(changed.map(({ plain }) => String(Buffer.from(plain)))).toEqual([
      'library_occupancy_people{customer="riverside"} 43\n',
    ]);
  });

  test('of what changes during a scrape is left to the next one, not of what expires', async () => {
    const expiring = riverside({ customer: 'a', validUntilMs: NOW_MS + 1_000 });
    const others = Array.from({ length: 128 }, (_, i) => riverside({ customer: `c${i}` }));
    const { clock, exposition, sources } = exposing(expiring, ...others);
    const scraped = exposition.scrape('text');
    clock.freeze(1_000);
    sources.forEach((source) => (source.metrics = { ...source.metrics, occupancy: 43 }));
    exposition.changed('c127');
    const text = Buffer.concat((await scraped).map(({ plain }) => plain)).toString();
    expect(text).toContain('library_occupancy_people{customer="a"} 43\n');
    expect(text).toContain('library_occupancy_people{customer="c127"} 42\n');
    expect(textOf(exposition)).toContain('library_occupancy_people{customer="c127"} 43\n');
  });

  test('happens before a scrape, once the polls have settled, and ends with the signal', async () => {
    const { clock, exposition, sources } = exposing(riverside());
    const stopping = new AbortController();
    const kept = exposition.keepRendered(stopping.signal);
    await clock.advance(700);
    const before = sources[0]?.asked ?? 0;
    exposition.changed('riverside');
    await clock.advance(300);
    expect(sources[0]?.asked).toBe(before);
    await clock.advance(1_000);
    expect(sources[0]?.asked).toBe(before + 1);
    stopping.abort();
    await kept;
    expect(clock.sleepers).toBe(0);
  });
});

test('a new counting period is shown at its first instant, and left if the clock steps back', async () => {
  const periodStartMs = NOW_MS + 60_000;
  const { clock, exposition } = exposing();
  function metricsAt(nowMs: number): CustomerMetrics {
    return nowMs < periodStartMs
      ? riverside({ validUntilMs: periodStartMs })
      : riverside({ periodStartMs, counters: {} });
  }
  exposition.setCustomers([{ customer: 'riverside', metricsAt }], []);
  const before = ['library_people_entered_total{customer="riverside"} 12345'];
  await clock.advance(59_999);
  expect(linesOf(exposition, 'library_people_entered_total')).toEqual(before);
  await clock.advance(1);
  expect(linesOf(exposition, 'library_people_entered_total')).toEqual([]);
  clock.step(-1_000);
  expect(linesOf(exposition, 'library_people_entered_total')).toEqual(before);
});
