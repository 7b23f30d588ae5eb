/** The status page: what a person reads, and what the markup must guarantee. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { NO_ESTIMATE } from '../../src/counting/customer-metrics.ts';
import type { CustomerStatus } from '../../src/web/status-rows.ts';
import { renderStatusPage } from '../../src/web/status-page.ts';
import type { StatusData } from '../../src/web/status-page.ts';
import { HOUR_MS } from '../../src/base/duration.ts';
import { NOW_MS } from '../metrics/fixtures.ts';
import {
  CLOSED,
  UNKNOWN,
  customer,
  numbered,
  polled,
  problem,
  statusOf,
  withBranches,
} from './fixtures.ts';
import type { CustomerChanges } from './fixtures.ts';
import { ask, protectedServer } from './protected.ts';

function pageOf(
  customers: readonly CustomerStatus[],
  path = '/',
  changes: Partial<StatusData> = {},
): string {
  const { searchParams } = new URL(path, 'http://x');
  const data = { ...statusOf(customers), ...changes };
  return renderStatusPage(data, '1.2.3', '/metrics', searchParams);
}

function textOf(page: string): string {
  return page
    .replace(/<style>[^]*<\/style>/, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function rowsOf(page: string): readonly (readonly [string, string])[] {
  const body = /<tbody>[^]*<\/tbody>/.exec(page)?.[0] ?? '';
  return Array.from(
    body.matchAll(/<tr class="(.*?)">([^]*?)<\/tr>/g),
    ([, style = '', row = '']) => [style, textOf(row)],
  );
}

function namesOf(page: string): readonly string[] {
  return rowsOf(page).map(([, text]) => text.split(' ')[0] ?? '');
}

describe('a customer', () => {
  test.each<[string, CustomerChanges, string]>([
    [
      'that works',
      {},
      'riverside Europe/Copenhagen ● Open 39 16 % of 250, 33 to 45, as counted 42 peak 42 321 usually 311 by now 279 55 ● people 12s ago',
    ],
    ['without an estimate', { estimate: NO_ESTIMATE }, 'Open 39 16 % of 250 peak'],
    ['that was not polled yet', UNKNOWN, 'Copenhagen – – – – – – ○ people not polled yet'],
    ['that is closed and empty', CLOSED, '○ Closed 0 0 % of 250 no visitors yet'],
    [
      'that counts nobody',
      { ...problem('nobody_counted', 17, 1_040.4), inside: undefined },
      'Copenhagen Nobody is counted for 17h, about 1 040 people missed ● Open – as counted 42 peak',
    ],
    [
      'that missed people earlier today',
      { isTrusted: false, inside: undefined },
      'Open – people were missed today, as counted 42 peak',
    ],
    [
      'whose polls fail',
      polled({ up: false, lastSuccessMs: NOW_MS - 49 * HOUR_MS - 59_000 }),
      '279 55 ✕ people failing , last success: 2d1h ago',
    ],
    [
      'whose values wait for confirmation',
      polled({ waitingSinceMs: NOW_MS - 2.5 * HOUR_MS }),
      '◐ people not confirmed since 2h30m ago',
    ],
  ])('%s', (_name, changes, text) => {
    expect(textOf(pageOf([customer(changes)]))).toContain(text);
  });
});

describe('branches', () => {
  test('have a row each below their customer', () => {
    const changes = withBranches(
      { name: 'Main' },
      { capacity: undefined, inside: undefined, occupancy: undefined, lastSeenMs: undefined },
      { name: 'North', open: false, estimate: NO_ESTIMATE, lastSeenMs: NOW_MS - 26 * HOUR_MS },
    );
    expect(rowsOf(pageOf([customer(changes)])).slice(1)).toEqual([
      [
        'branch',
        'Main 101 ● Open 39 49 % of 80, 33 to 45, as counted 42 321 usually 311 by now 279 Last visitor counted 5m ago',
      ],
      ['branch', '102 ● Open – 321 usually 311 by now 279'],
      [
        'branch',
        'North 103 ○ Closed 39 49 % of 80 321 usually 311 by now 279 Last visitor counted 1d2h ago',
      ],
    ]);
  });

  test.each<[string, CustomerChanges, string]>([
    ['are known', withBranches({}, { open: false }), '● Open 1 of 2 78 peak'],
    ['are not all known', withBranches({}, { inside: undefined }), '39 in 1 of 2 peak'],
    ['are not known yet', withBranches(), '– – peak'],
  ])('that %s have a sum in the row of their customer', (_name, changes, text) => {
    expect(textOf(pageOf([customer(changes)]))).toContain(` ${text}`);
  });

  test('with problems come first, in the order of problems, and colour their rows', () => {
    const changes = withBranches(
      {},
      { name: 'East', ...problem('door_ratio_off', 60) },
      { name: 'North', ...problem('nobody_counted', 3, 12) },
    );
    expect(rowsOf(pageOf([customer(changes)]))).toEqual([
      ['customer', expect.stringMatching(/^riverside /)],
      [
        'branch fails',
        expect.stringMatching(/^North 103 Nobody is counted for 3h, about 12 people/),
      ],
      ['branch', expect.stringMatching(/^East 102 One direction counts too few for 2d12h ● Open/)],
      ['branch', expect.stringMatching(/^101 ● Open/)],
    ]);
  });
});

describe('the page', () => {
  test('lists customers in the order of problems, and counts these in the title', () => {
    const page = pageOf([
      customer({ customer: 'ok-1' }),
      customer({ customer: 'failing-1', ...problem('polls_failing', 1) }),
      customer({ ...UNKNOWN, customer: 'waiting' }),
      customer({ customer: 'ok-2' }),
      customer({ customer: 'refused', ...problem('credentials_refused', 1) }),
      customer({ customer: 'failing-2', ...problem('polls_failing', 1) }),
      customer({ customer: 'parent', ...withBranches(problem('exits_missing', 1)) }),
    ]);
    expect(namesOf(page)).toEqual(
      'refused failing-1 failing-2 parent 101 waiting ok-1 ok-2'.split(' '),
    );
    expect(textOf(page)).toMatch(/^\(4\) library-stats-exporter library-stats-exporter 1\.2\.3 /);
    expect(textOf(page)).toContain('4 of 7 need attention Not polled yet: 1, without problems: 2.');
  });

  test('shows a failed reload, and since when the state file could not be saved', () => {
    const failedReload = { atMs: NOW_MS - 300_000, problems: 3 };
    const stateFailure = { sinceMs: NOW_MS - 300_000, error: "EACCES: open 'data/state.db'" };
    expect(textOf(pageOf([customer()], '/', { failedReload, stateFailure }))).toContain(
      'Configuration reload failed 5m ago (problems: 3). The previous configuration stays in use; ' +
        'the log has the details. State not saved since 2026-03-10 08:55:00 UTC: EACCES: open ' +
        '&#39;data/state.db&#39;. After a restart, counters could be lower. 0 of 1 need attention ',
    );
    expect(pageOf([customer()])).not.toContain('role="alert"');
  });

  test('has 200 rows and links to the others, but does not divide a customer', () => {
    const customers = [
      ...numbered(150),
      customer(withBranches(...Array(300).fill({}))),
      ...numbered(1),
    ];
    const rows = [1, 2, 3].map((page) => namesOf(pageOf(customers, `/?page=${page}`)).length);
    expect(rows).toEqual([150, 301, 1]);
    const second = pageOf(numbered(401), '/?page=2&filter=library');
    expect(namesOf(second)).toEqual(Array.from({ length: 200 }, (_, i) => `library-${200 + i}`));
    expect(second).toContain('rel="prev" href="?filter=library&#38;page=1"');
    expect(second).toContain('rel="next" href="?filter=library&#38;page=3"');
  });

  test.each([
    ['/?page=x', 'Page 1 of 2, customers found: 201'],
    ['/?page=999', 'Page 2 of 2'],
    ['/?filter=+LIBRARY-200+', 'Page 1 of 1, customers found: 1'],
  ])('%s says %s', (path, text) => {
    expect(textOf(pageOf(numbered(201), path))).toContain(text);
  });

  test('escapes everything that comes from outside', () => {
    const nasty = `"><script>alert('x')</script>&amp;`;
    const failing = polled({ up: false, lastError: { message: nasty, atMs: NOW_MS } });
    const branches = withBranches({ key: nasty, name: nasty });
    const named = customer({ ...failing, customer: nasty, timezone: nasty, ...branches });
    const stateFailure = { sinceMs: NOW_MS, error: nasty };
    const page = pageOf([named], `/?filter=${encodeURIComponent(nasty)}`, { stateFailure });
    const escaped = '&#34;&#62;&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;&#38;amp;';
    expect(page).not.toContain('<script');
    // The name, the zone, the error, the filter, the alert, the branch and its id.
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
