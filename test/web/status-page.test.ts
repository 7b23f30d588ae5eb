/** The status page: what a person reads, and what the markup must guarantee. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { NO_ESTIMATE } from '../../src/counting/customer-metrics.ts';
import type { DoorFault } from '../../src/counting/occupancy/estimate.ts';
import type { CustomerStatus } from '../../src/web/status-row.ts';
import { renderStatusPage } from '../../src/web/status-page.ts';
import type { StatusData } from '../../src/web/status-page.ts';
import { NOW_MS } from '../metrics/fixtures.ts';
import { FAILING, UNKNOWN, customer, polled, seriesOf, statusOf, stream } from './fixtures.ts';
import type { CustomerChanges } from './fixtures.ts';
import { ask, protectedServer } from './protected.ts';

const HOUR_MS = 3_600_000;

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

/** Without tags, and with single spaces. */
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

function estimated(people: number, lower: number, upper: number, fault: DoorFault | 'none') {
  return { estimate: { ...NO_ESTIMATE, people: { people, lower, upper }, fault } };
}

describe('a customer', () => {
  test.each<[string, CustomerChanges, string]>([
    [
      'that works',
      {},
      'riverside Europe/Copenhagen Open 42 of 250 17 % peak 42 at 05:15 1 321 279 55 ' +
        '● people 12s ago , next in 48s',
    ],
    [
      'that was not polled yet',
      UNKNOWN,
      'riverside Europe/Copenhagen Not polled yet – – – – – – ○ people not polled yet, next in 48s',
    ],
    [
      'that is closed and empty',
      { open: false, occupancy: 0, series: seriesOf([0, 0]) },
      'Closed 0 of 250 0 % no visitors yet',
    ],
    [
      'whose estimate differs from the counts by more than 5 %, with a suspected door',
      estimated(38.6, 33.4, 44.2, 'exits_missing'),
      'Exits missing? Open 42 of 250 probably 39 (33 to 45) 17 %',
    ],
    [
      'whose estimate is close to the counts',
      estimated(40, 36, 44, 'none'),
      'riverside Europe/Copenhagen Open 42 of 250 17 %',
    ],
    [
      'whose estimate differs from the counts by less than a person',
      { ...estimated(2.3, 1, 4, 'none'), occupancy: 2 },
      'Open 2 of 250 1 %',
    ],
    ['that is above its capacity', { occupancy: 300 }, 'Open 300 of 250 120 %'],
    ['whose credentials were refused', { credentialsValid: false }, 'Credentials refused Open'],
    [
      'whose polls fail',
      polled({
        up: false,
        lastSuccessMs: NOW_MS - 49 * HOUR_MS - 59_000,
        failures: 7,
        skipped: 2,
        lastError: { message: 'HTTP 503', atMs: NOW_MS - 61_000 },
      }),
      'Polls failing Open 42 of 250 17 % peak 42 at 05:15 1 321 279 55 ✕ people failing , ' +
        'last success 2d1h ago , next in 48s 7 of 100 polls failed, 2 skipped HTTP 503 1m1s ago',
    ],
    [
      'that counted its last visitor long ago',
      polled({ lastSeenMs: NOW_MS - 17 * HOUR_MS }),
      'Last visitor counted 17h ago',
    ],
    [
      'whose last poll is in the future, after the clock stepped back',
      polled({ lastSuccessMs: NOW_MS + 60_000 }),
      '● people 0s ago',
    ],
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

describe('the page', () => {
  test('lists failing customers first, and counts them in the title', () => {
    const page = pageOf([
      customer({ customer: 'ok-1' }),
      customer({ ...FAILING, customer: 'failing-1' }),
      customer({ ...UNKNOWN, customer: 'waiting' }),
      customer({ customer: 'ok-2' }),
      customer({ customer: 'refused', credentialsValid: false }),
      customer({ ...FAILING, customer: 'failing-2' }),
    ]);
    const rows = page.matchAll(/<th role="rowheader" scope="row">\s*(\S+)/g);
    expect(Array.from(rows, ([, name]) => name)).toEqual(
      'refused failing-1 failing-2 waiting ok-1 ok-2'.split(' '),
    );
    expect(textOf(page)).toMatch(/^\(3\) library-stats-exporter library-stats-exporter 1\.2\.3 /);
    expect(textOf(page)).toContain('customers 6 failing 3 not polled yet 1 OK 2');
  });

  test('shows a failed reload on top, with its time and the number of problems', () => {
    const failedReload = { atMs: NOW_MS - 300_000, problems: 3 };
    expect(textOf(pageOf([customer()], '/', { failedReload }))).toContain(
      'Metrics Configuration reload failed 5m ago (problems: 3). The previous configuration stays in use',
    );
    expect(pageOf([customer()])).not.toContain('reload failed');
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
    const page = pageOf(
      [customer({ ...failing, customer: nasty, timezone: nasty })],
      `/?filter=${encodeURIComponent(nasty)}`,
    );
    const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;';
    expect(page).not.toContain('<script');
    // The name, the zone, the error and the filter.
    expect(page.split(escaped)).toHaveLength(5);
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
