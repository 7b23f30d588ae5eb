/** The status page: what a person reads, and what the markup must guarantee. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { NO_ESTIMATE } from '../../src/counting/customer-metrics.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { CustomerRegistry } from '../../src/customers.ts';
import type { CustomerStatus } from '../../src/web/status-row.ts';
import { renderStatusPage } from '../../src/web/status-page.ts';
import type { StatusData } from '../../src/web/status-page.ts';
import { configWith, load } from '../config/folder.ts';
import { NOW_MS } from '../metrics/fixtures.ts';
import {
  CLOSED,
  FAILING,
  HOUR_MS,
  KNOWN_PAST,
  UNKNOWN,
  customer,
  numberedBranches,
  polled,
  problem,
  seriesOf,
  statusOf,
  stream,
  withBranches,
} from './fixtures.ts';
import type { BranchChanges, CustomerChanges } from './fixtures.ts';
import { ask, protectedServer } from './protected.ts';

function pageOf(
  customers: readonly CustomerStatus[],
  path = '/',
  changes: Partial<StatusData> = {},
): string {
  return renderStatusPage(
    { ...statusOf(customers), ...changes },
    '1.2.3',
    '/metrics',
    new URL(path, 'http://x').searchParams,
  );
}

/** Returns a page's text without tags, and with single spaces. */
function textOf(page: string): string {
  return page
    .replace(/<style>[^]*<\/style>/, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function numbered(count: number): readonly CustomerStatus[] {
  return Array.from({ length: count }, (_, i) => customer({ customer: `library-${i}` }));
}

function estimated(people: number, lower: number, upper: number): CustomerChanges {
  return {
    estimate: { ...NO_ESTIMATE, people: { people, lower, upper } },
    inside: Math.round(people),
  };
}

const LAST_POLLS = {
  lastSuccessMs: NOW_MS - 49 * HOUR_MS - 59_000,
  lastError: { message: 'HTTP 503', atMs: NOW_MS - 61_000 },
};
const USUAL = { ...KNOWN_PAST, entriesToday: 1_234.5 };

describe('a customer', () => {
  test.each<[string, CustomerChanges, string]>([
    [
      'that works',
      {},
      'riverside Europe/Copenhagen Open 42 of 250 17 % peak 42 at 05:15 1 321 279 55 ' +
        '● people 12s ago , next in 48s',
    ],
    [
      'that says what is usual',
      { usual: USUAL },
      'riverside Europe/Copenhagen Open 42 of 250 17 % peak 42 at 05:15 1 321 usually 1 235 by now 279 55 ' +
        '● people 12s ago , next in 48s',
    ],
    ['whose past is not read yet', { usual: undefined }, '1 321 reading the past 279 55 ●'],
    ['whose keys cannot be parsed', { usual: undefined, series: undefined }, '– 1 321 279 55 ●'],
    ['whose polls fail before', { ...FAILING, usual: undefined }, '1 321 279 55 ✕'],
    [
      'that was not polled yet',
      UNKNOWN,
      'riverside Europe/Copenhagen Not polled yet – – – – – – ○ people not polled yet, next in 48s',
    ],
    ['that is closed and empty', CLOSED, 'Closed 0 of 250 0 % no visitors yet'],
    ['with an estimate', estimated(38.6, 33.4, 44.2), 'Open 39 of 250 33 to 45 as counted 42 16 %'],
    [
      'with an estimate and without a capacity',
      { ...estimated(1_039.6, 1_001, 1_072.1), capacity: undefined },
      'Open 1 040 1 001 to 1 073 as counted 42 peak',
    ],
    ['that is above its capacity', { occupancy: 300 }, 'Open 300 of 250 120 %'],
    [
      'that counts nobody',
      { ...problem('nobody_counted', 17, 1_040.4), inside: undefined },
      'Copenhagen Nobody is counted for 17h , about 1 040 people missed Open – as counted 42 peak',
    ],
    [
      'whose problem costs nobody',
      problem('door_ratio_off', 60),
      'One direction counts too few for 2d12h Open 42',
    ],
    [
      'that missed people earlier today',
      { isTrusted: false, inside: undefined },
      'Open – people were missed today as counted 42 peak',
    ],
    [
      'whose credentials were refused',
      problem('credentials_refused', 2),
      'Credentials refused for 2h Open',
    ],
    [
      'whose polls fail',
      {
        ...polled({ up: false, failures: 7, skipped: 2, ...LAST_POLLS }),
        ...problem('polls_failing', 49),
      },
      'Polls fail for 2d1h Open 42 of 250 17 % peak 42 at 05:15 1 321 279 55 ✕ people failing , ' +
        'last success 2d1h ago , next in 48s 7 of 100 polls failed, 2 skipped HTTP 503 1m1s ago',
    ],
    [
      'whose values wait for confirmation',
      polled({ waitingSinceMs: NOW_MS - 2.5 * HOUR_MS }),
      'Copenhagen Open 42 of 250 17 % peak 42 at 05:15 1 321 279 55 ' +
        '◐ people waiting for confirmation since 07:30 , next in 48s',
    ],
    [
      'whose values wait since the day before',
      polled({ waitingSinceMs: NOW_MS - 11 * HOUR_MS }),
      '◐ people waiting for confirmation since 2026-03-09 23:00 , next in 48s',
    ],
    [
      'whose values wait and whose newest poll failed',
      polled({ waitingSinceMs: NOW_MS - 11 * HOUR_MS, up: false }),
      'Copenhagen Open 42 of 250 17 % peak 42 at 05:15 1 321 279 55 ✕ people failing',
    ],
    ['whose clock stepped back', polled({ lastSuccessMs: NOW_MS + 60_000 }), '● people 0s ago'],
  ])('%s', (_name, changes, text) => {
    expect(textOf(pageOf([customer(changes)]))).toContain(text);
  });

  test('shows the newest error of its streams', () => {
    function failing(message: string, ageMs: number): ReturnType<typeof stream> {
      const lastError = { message, atMs: NOW_MS - ageMs };
      return stream({ up: false, lastSuccessMs: undefined, lastError });
    }
    const streams = { people: failing('old', 9_000), logins: failing('new', 3_000) };
    const text = textOf(pageOf([customer({ streams })]));
    expect(text).toContain('✕ people failing , never succeeded, next in 48s ✕ logins failing');
    expect(text.match(/(old|new) \S+ ago/g)).toEqual(['new 3s ago']);
  });

  test.each([
    [59_001, 'ago , next in 1m Last'],
    [0, 'ago , polling now Last'],
    [undefined, 'ago Last'],
  ])('whose next poll is in %s ms has the text %s', (inMs, text) => {
    const lastSeen = polled({ lastSeenMs: NOW_MS });
    expect(textOf(pageOf([customer(lastSeen)], '/', { nextPollInMs: () => inMs }))).toContain(text);
  });

  test('has a sparkline over the width of the whole day, up to the last reading', () => {
    // From 04:00 to 09:59:48 in Copenhagen: a quarter of the day of 120 units.
    const page = pageOf([customer({ series: seriesOf([...Array(23).fill(0), 10]) })]);
    expect(page).toMatch(/class="line"\s+d="M0 27L1.3 27L2.5 27L.*L28.8 27L30 1.5"/);
    expect(page).toContain('aria-label="People inside since 04:00: peak 10 at 09:59"');
    expect(pageOf([customer({ series: seriesOf([]) })])).not.toContain('NaN');
  });
});

test('a branch has an id and a name', async () => {
  const customer = 'breakdowns: [branch]\nbranches: { 101: Main, 102: { capacity: 80 } }';
  const { config } = await load({ 'config.yaml': configWith({ customer }) });
  const [registered] = new CustomerRegistry(new HighWaterMarks()).update(config);
  expect(registered?.customer.branchNames).toEqual(['101', '102', 'Main']);
});

describe('branches', () => {
  const estimate = { ...NO_ESTIMATE, people: { people: 9.6, lower: 7, upper: 11.2 } };
  const silent = problem('nobody_counted', 3, 12) as BranchChanges;
  const UNREAD = { usual: undefined, occupancy: undefined, lastSeenMs: undefined };

  /** The text of each row of a branch. */
  function rowsOf(page: string): readonly string[] {
    const table = /<table role="table" aria-label="Branches[^]*?<\/table>/.exec(page)?.[0] ?? '';
    return Array.from(table.matchAll(/<tr [^]*?<\/tr>/g), ([row]) => textOf(row)).slice(1);
  }

  test('have a row each below their customer, with what its row has', () => {
    const changes = withBranches(
      { name: 'Main', usual: USUAL, inside: 10, estimate },
      { capacity: undefined, occupancy: undefined, counters: {}, lastSeenMs: undefined },
      { name: 'North', open: false, occupancy: 3, lastSeenMs: NOW_MS - 26 * HOUR_MS },
    );
    const page = pageOf([customer(changes)]);
    expect(rowsOf(page)).toEqual([
      'Main 101 Open 10 of 80 7 to 12 as counted 12 13 % 321 usually 1 235 by now 309 5m ago',
      '102 Open – – – –',
      'North 103 Closed 3 of 80 4 % 321 309 1d2h ago',
    ]);
    expect(page).toContain('<table role="table" aria-label="Branches of riverside">');
  });

  test('say that they wait for the past', () => {
    const page = pageOf([customer(withBranches(UNREAD, { usual: undefined }))]);
    expect(rowsOf(page)).toEqual([
      '101 Open reading the past 321 reading the past 309 reading the past',
      '102 Open 12 of 80 15 % 321 reading the past 309 5m ago',
    ]);
  });

  test.each<[string, CustomerChanges, string]>([
    ['are known', withBranches({}, { open: false }), 'Open 1 of 2 24 peak'],
    ['are all closed', withBranches({ open: false, occupancy: 0 }), 'Closed 0 peak'],
    ['have no opening hours', withBranches({ open: undefined }), '– 12 peak'],
    ['are not all known', withBranches({}, { occupancy: undefined }), 'Open 2 of 2 – peak'],
    [
      'are not all trusted',
      withBranches({}, { ...silent, inside: undefined }),
      'Open 2 of 2 12 without 1 of 2 peak',
    ],
    [
      'are not trusted at all',
      withBranches({ ...silent, inside: undefined }),
      'Open 1 of 1 – peak',
    ],
    ['are not known yet', withBranches(), '– – peak'],
    ['wait for the past', withBranches({}, UNREAD), 'Open 2 of 2 reading the past peak'],
    [
      'wait for that of their customer',
      { ...withBranches(), usual: undefined },
      '– reading the past',
    ],
  ])('that %s have a sum in the row of their customer', (_name, changes, text) => {
    expect(textOf(pageOf([customer(changes)]))).toContain(`Europe/Copenhagen ${text}`);
  });

  test.each([
    ['three are shown', 3, 2, 'open'],
    ['four are folded', 4, 2, ''],
    ['four of the only customer are shown', 4, 1, 'open'],
  ])('%s', (_name, count, customers, state) => {
    const each = customer(numberedBranches(count));
    const page = pageOf(Array.from({ length: customers }, () => each));
    expect(page).toContain(`<details ${state}>`);
    expect(textOf(page)).toContain(`next in 48s ${count} branches Branch State`);
  });

  test('with problems come first, in the order of problems, are named, and colour their rows', () => {
    const east = problem('door_ratio_off', 60) as BranchChanges;
    const page = pageOf([
      customer(withBranches({}, { name: 'East', ...east }, { name: 'North', ...silent })),
    ]);
    expect(rowsOf(page)).toEqual([
      expect.stringMatching(/^North 103 Nobody is counted for 3h , about 12 people missed Open/),
      expect.stringMatching(/^East 102 One direction counts too few for 2d12h Open/),
      expect.stringMatching(/^101 Open/),
    ]);
    expect(textOf(page)).toContain('3 branches Needs attention: North, East Branch State');
    const styles = page.matchAll(/<tr role="row" class="((?:bad|warns)[^"]*)/g);
    expect(Array.from(styles, ([, style]) => style)).toEqual(['bad parent', 'bad', 'warns']);
  });

  test.each([
    ['103', '1 of 102 branches Branch State', ['branch-2 103']],
    ['BRANCH-10', '3 of 102 branches', ['branch-10 111', 'branch-100 201', 'branch-101 202']],
  ])('are found by a filter for their id or name: %s', (filter, text, rows) => {
    const other = customer({ customer: 'hilltop' });
    const page = pageOf([other, customer(numberedBranches(102)), other], `/?filter=${filter}`);
    expect(textOf(page)).toContain('customers found: 1');
    expect(textOf(page)).toContain(text);
    expect(page).toContain('<details open>');
    expect(rowsOf(page).map((row) => row.replace(/ Open.*/, ''))).toEqual(rows);
  });

  test('are all there where the filter finds their customer', () => {
    const page = pageOf([customer(numberedBranches(3))], '/?filter=river');
    expect(rowsOf(page)).toHaveLength(3);
  });

  test('are a hundred at most for each customer', () => {
    const page = pageOf([customer(numberedBranches(102))]);
    expect(rowsOf(page)).toHaveLength(100);
    expect(textOf(page)).toContain('2 more are in the metrics.');
  });
});

describe('the page', () => {
  test('lists customers in the order of problems, and counts these in the title', () => {
    const page = pageOf([
      customer({ customer: 'ok-1' }),
      customer({ ...FAILING, customer: 'failing-1' }),
      customer({ ...UNKNOWN, customer: 'waiting' }),
      customer({ customer: 'ok-2' }),
      customer({ customer: 'refused', ...problem('credentials_refused', 1) }),
      customer({ ...FAILING, customer: 'failing-2' }),
      customer({
        ...withBranches(problem('exits_missing', 1) as BranchChanges),
        customer: 'branch',
      }),
    ]);
    const rows = page.matchAll(/<th role="rowheader" scope="row">\s*(\S+)/g);
    expect(Array.from(rows, ([, name]) => name)).toEqual(
      'refused failing-1 failing-2 branch 101 waiting ok-1 ok-2'.split(' '),
    );
    expect(textOf(page)).toMatch(/^\(4\) library-stats-exporter library-stats-exporter 1\.2\.3 /);
    expect(textOf(page)).toContain(
      'customers 7 need attention 4 not polled yet 1 without problems 2',
    );
  });

  test('shows a failed reload on top, with its time and the number of problems', () => {
    const failedReload = { atMs: NOW_MS - 300_000, problems: 3 };
    expect(textOf(pageOf([customer()], '/', { failedReload }))).toContain(
      'docs Configuration reload failed 5m ago (problems: 3). The previous configuration stays in use',
    );
    expect(pageOf([customer()])).not.toContain('reload failed');
  });

  test('shows on top since when the state file could not be saved, and why', () => {
    const error = "EACCES: permission denied, open 'data/state.db'";
    const stateFailure = { sinceMs: NOW_MS - 300_000, error };
    const page = pageOf([customer()], '/', { stateFailure });
    expect(page).toContain('<p class="alert" role="alert">');
    expect(textOf(page)).toContain(
      'docs State not saved since 2026-03-10 08:55 UTC: EACCES: permission denied, open ' +
        '&#39;data/state.db&#39;. After a restart, counters could be lower. Summary',
    );
    expect(pageOf([customer()])).not.toContain('State not saved');
  });

  test('has 50 rows and links to the others, and asks only those for details', () => {
    const asked: string[] = [];
    const customers = numbered(101).map((each) => ({
      ...each,
      metricsAt(nowMs: number) {
        asked.push(each.customer);
        return each.metricsAt(nowMs);
      },
    }));
    const second = pageOf(customers, '/?page=2&filter=library');
    expect(asked).toEqual(customers.slice(50, 100).map((each) => each.customer));
    expect(second).toContain('rel="prev" href="?filter=library&amp;page=1"');
    expect(second).toContain('rel="next" href="?filter=library&amp;page=3"');
  });

  test.each([
    ['/', 'Page 1 of 2, customers found: 51'],
    ['/?page=999', 'Page 2 of 2'],
    ['/?page=x', 'Page 1 of 2'],
    ['/?filter=+LIBRARY-50+', 'Page 1 of 1, customers found: 1'],
    ['/?filter=what%3F%ff', 'No customers found. Page 1 of 1, customers found: 0'],
  ])('%s says %s', (path, text) => {
    expect(textOf(pageOf(numbered(51), path))).toContain(text);
  });

  test('escapes everything that comes from outside', () => {
    const nasty = `"><script>alert('x')</script>&amp;`;
    const failing = polled({ up: false, lastError: { message: nasty, atMs: NOW_MS } });
    const { branches, breakdowns = {} } = withBranches({ key: nasty, name: nasty });
    const named = customer({
      ...failing,
      customer: nasty,
      timezone: nasty,
      branches,
      breakdowns,
    });
    const stateFailure = { sinceMs: NOW_MS, error: nasty };
    const page = pageOf([named], `/?filter=${encodeURIComponent(nasty)}`, { stateFailure });
    const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;';
    expect(page).not.toContain('<script');
    // The name, the zone, the error, the filter, the banner, the branch and whose it is.
    expect(page.split(escaped)).toHaveLength(8);
  });

  test('is allowed its own style and nothing else by its policy', async () => {
    const { url } = await protectedServer({});
    const { headers, body } = await ask(url, '/');
    const style = /<style>([^]*?)<\/style>/.exec(body)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
    });
    expect(body).not.toMatch(/<script|\sstyle=|\ssrc=|\son\w+=/);
  });
});
