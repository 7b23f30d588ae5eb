import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createApp } from '../../src/web/server.ts';
import { byTrouble } from '../../src/web/status-data.ts';
import type { StatusCustomer } from '../../src/web/status-data.ts';
import { renderStatusPage } from '../../src/web/status-page.ts';
import { LONGEST_FILTER, hrefOf, parseStatusQuery } from '../../src/web/status-query.ts';
import { NOW_MS, customer, pathOf, stream, webOptions } from './fixtures.ts';

function pageOf(customers: readonly StatusCustomer[], query = '/'): string {
  return renderStatusPage(
    { nowMs: NOW_MS, customers },
    { version: '1.2.3', telemetryPath: '/metrics', query: parseStatusQuery(query) },
  );
}

/** What a person reads, without tags and with single spaces. */
function readable(page: string): string {
  return page
    .replace(/<style>[^]*<\/style>/, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function numbered(customers: number): readonly StatusCustomer[] {
  return Array.from({ length: customers }, (_, i) => customer({ customer: `library-${i}` }));
}

/** As the service says nothing yet. */
function unknownCustomer(): StatusCustomer {
  return customer({
    open: undefined,
    capacity: undefined,
    occupancy: undefined,
    credentialsValid: undefined,
    kinds: { people_entered: { today: undefined } },
    streams: { people: stream({ up: undefined, lastSuccessMs: undefined, polls: 0 }) },
    path: undefined,
    nextPollInMs: { people: 0 },
  });
}

describe('one customer', () => {
  test('shows who is inside, the figures of the day and how the polls go', () => {
    expect(readable(pageOf([customer()]))).toContain(
      'riverside Europe/Copenhagen Open 42 of 250 17 % peak 42 at 05:15 1 321 279 55 ' +
        '● people 12s ago , next in 48s',
    );
  });

  test('what is not known is a dash, never 0', () => {
    const text = readable(pageOf([unknownCustomer()]));
    expect(text).toContain(
      'riverside Europe/Copenhagen Not polled yet – – – – – – ○ people not polled yet, polling now',
    );
  });

  test('a library that is closed and empty says so', () => {
    const path = pathOf([0, 0]);
    const text = readable(pageOf([customer({ open: false, occupancy: 0, path })]));
    expect(text).toContain('Closed 0 of 250 0 % nobody yet');
  });

  test('the last error stands there in words, with its age', () => {
    const people = stream({
      up: false,
      lastSuccessMs: NOW_MS - 2 * 86_400_000 - 3_600_000 - 59_000,
      failures: 7,
      skipped: 2,
      lastError: { message: 'The service answered 503', atMs: NOW_MS - 61_000 },
    });
    const text = readable(pageOf([customer({ streams: { people } })]));
    expect(text).toContain('riverside Europe/Copenhagen Polls fail Open');
    expect(text).toContain(
      '✕ people failing , last good 2d1h ago 7 of 100 polls failed, 2 skipped, next in 48s ' +
        'The service answered 503 1m1s ago',
    );
  });

  test('an error of several streams is said once, with its newest age', () => {
    function failing(ageMs: number): ReturnType<typeof stream> {
      const lastError = { message: 'no answer', atMs: NOW_MS - ageMs };
      return stream({ up: false, lastSuccessMs: undefined, lastError });
    }
    const streams = { people: failing(9_000), logins: failing(3_000) };
    const text = readable(pageOf([customer({ streams })]));
    expect(text).toContain('✕ people failing , never good');
    expect(text.split('no answer')).toEqual([expect.anything(), expect.stringMatching(/^ 3s ago/)]);
  });

  test('refused credentials are said in words', () => {
    expect(readable(pageOf([customer({ credentialsValid: false })]))).toContain(
      'riverside Europe/Copenhagen Credentials refused',
    );
  });

  test('says when the last visitor was counted', () => {
    const people = stream({ lastSeenMs: NOW_MS - 17 * 3_600_000 });
    expect(readable(pageOf([customer({ streams: { people } })]))).toContain(
      'Last visitor counted 17h ago',
    );
    expect(readable(pageOf([customer()]))).not.toContain('Last visitor');
  });

  test('more people than the house may hold fill the bar', () => {
    const page = pageOf([customer({ occupancy: 300 })]);
    expect(page).toMatch(/<meter\s+min="0"\s+max="250"\s+high="225"\s+optimum="0"\s+value="300"/);
    expect(readable(page)).toContain('300 of 250 120 %');
  });

  test('an instant ahead of the clock is now, not a negative age', () => {
    const people = stream({ lastSuccessMs: NOW_MS + 60_000 });
    expect(readable(pageOf([customer({ streams: { people } })]))).toContain('people 0s ago');
  });

  test('nothing that comes from outside can become markup', () => {
    const nasty = `"><script>alert('x')</script>&amp;`;
    const people = stream({ up: false, lastError: { message: nasty, atMs: NOW_MS } });
    const page = pageOf(
      [customer({ customer: nasty, timezone: nasty, streams: { people } })],
      `/?filter=${encodeURIComponent(nasty)}`,
    );
    const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;';
    expect(page).not.toContain('<script');
    // The name, the zone and the error; and the filter, in its field and in the words below.
    expect(page.split(escaped)).toHaveLength(6);
  });
});

describe('the path of the day', () => {
  function drawn(inside: readonly number[]): string {
    return pageOf([customer({ path: pathOf(inside) })]);
  }

  test('is drawn over the width of the day, up to when it was read', () => {
    // 04:00 to 09:59:48 in Copenhagen: a quarter of the day of 120 units.
    const inside = [...Array.from({ length: 23 }, () => 0), 10];
    expect(drawn(inside)).toMatch(/class="line"\s+d="M0 27L1.3 27L2.5 27L.*L28.8 27L30 1.5"/);
    expect(drawn(inside)).toContain('aria-label="People inside since 04:00: peak 10 at 09:59"');
  });

  test('of a day without visitors lies on the ground', () => {
    expect(drawn([0, 0, 0])).toContain('M0 27L1.3 27L2.5 27L3.8 27"');
  });

  test('that has only begun is no more than its beginning', () => {
    expect(drawn([])).toContain('aria-label="People inside since 04:00: nobody yet"');
    expect(drawn([])).not.toContain('NaN');
  });
});

describe('many customers', () => {
  test('trouble comes first, refused credentials before failing polls, otherwise in order', () => {
    const failing = { streams: { people: stream({ up: false }) } };
    const order = byTrouble([
      customer({ customer: 'fine 1' }),
      customer({ customer: 'failing 1', ...failing }),
      customer({ customer: 'waiting', streams: { people: stream({ up: undefined }) } }),
      customer({ customer: 'fine 2' }),
      customer({ customer: 'refused', credentialsValid: false }),
      customer({ customer: 'failing 2', ...failing }),
    ]);
    expect([...order.values()].flat().map((each) => each.customer)).toEqual([
      'refused',
      'failing 1',
      'failing 2',
      'waiting',
      'fine 1',
      'fine 2',
    ]);
  });

  test('the sum of trouble is on top and in the title', () => {
    const text = readable(pageOf([customer(), customer({ credentialsValid: false })]));
    expect(text).toMatch(/^\(1\) library-stats-exporter library-stats-exporter 1\.2\.3/);
    expect(text).toContain('customers 2 in trouble 1 well 1');
    expect(readable(pageOf([customer()]))).toContain('customers 1 in trouble 0 well 1');
    expect(readable(pageOf([unknownCustomer()]))).toContain('in trouble 0 not polled yet 1 well 0');
  });

  test('50 rows are a page, and pages are linked', () => {
    const customers = numbered(101);
    const rowsOf = [1, 2, 3].map(
      (page) => pageOf(customers, `/?page=${page}`).match(/role="rowheader"/g)?.length,
    );
    expect(rowsOf).toEqual([50, 50, 1]);
    const second = pageOf(customers, '/?page=2');
    expect(second).toContain('library-50 ');
    expect(second).toMatch(/rel="prev" href="\?"/);
    expect(second).toMatch(/rel="next" href="\?page=3"/);
    expect(readable(second)).toContain('Page 2 of 3: 101 customers');
    expect(pageOf(customers.slice(0, 50))).not.toContain('<nav');
  });

  test('only those that are shown are asked for their details', () => {
    const asked: string[] = [];
    const customers = numbered(1_000).map((each) => ({
      ...each,
      detail() {
        asked.push(each.customer);
        return each.detail();
      },
    }));
    pageOf(customers, '/?page=20&filter=LIBRARY');
    expect(asked).toEqual(customers.slice(950).map((each) => each.customer));
  });

  test('no customers are a page, too', () => {
    expect(readable(pageOf([]))).toContain('customers 0 in trouble 0 well 0');
    expect(readable(pageOf([]))).toContain('No customer to show.');
  });
});

describe('the filter', () => {
  test('finds a part of a name in any case, and says how many', () => {
    const customers = [...numbered(120), customer({ customer: 'Åbenrå' })];
    const some = readable(pageOf(customers, '/?filter=RARY-1'));
    expect(some).toContain('library-119');
    expect(some).toContain('31 customers with RARY-1 in the name');
    expect(some).not.toContain('library-20 ');
    expect(readable(pageOf(customers, '/?filter=%C3%A5BEN'))).toContain('1 customer with åBEN');
    expect(readable(pageOf(customers, '/?filter=nowhere'))).toContain('No customer to show.');
  });

  test('stays over pages, while refreshing, and when refreshing is stopped', () => {
    const page = pageOf(numbered(120), '/?filter=lib%26rary%201');
    expect(page).toMatch(/value="lib&amp;rary 1"/);
    // Without an address, a browser loads the page's own again.
    expect(page).toContain('<meta http-equiv="refresh" content="60" />');
    const found = pageOf(numbered(120), '/?filter=rary&page=2');
    expect(found).toContain('href="?filter=rary"');
    expect(found).toContain('href="?filter=rary&amp;page=3"');
    expect(found).toContain('href="?filter=rary&amp;page=2&amp;refresh=off"');
    const still = pageOf(numbered(120), '/?filter=rary&page=2&refresh=off');
    expect(still).not.toContain('http-equiv="refresh"');
    expect(still).toContain('href="?filter=rary&amp;page=2"');
    expect(still).toContain('href="?filter=rary&amp;page=3&amp;refresh=off"');
    expect(still).toMatch(/<input type="hidden" name="refresh" value="off"/);
  });

  test.each([
    ['/', { page: 1, filter: '', refresh: true }],
    ['/?', { page: 1, filter: '', refresh: true }],
    ['/?page=2', { page: 2, filter: '', refresh: true }],
    ['/?page=2&page=1', { page: 2, filter: '', refresh: true }],
    ['/?page=x', { page: 1, filter: '', refresh: true }],
    ['/?page=-1', { page: 1, filter: '', refresh: true }],
    ['/?page=9999999999999', { page: 1, filter: '', refresh: true }],
    ['/?filter=+a%20b+', { page: 1, filter: 'a b', refresh: true }],
    ['/?filter=what?&refresh=off', { page: 1, filter: 'what?', refresh: false }],
    ['/?filter=%ff%00', { page: 1, filter: '\ufffd\0', refresh: true }],
    ['/?refresh=on', { page: 1, filter: '', refresh: true }],
    [`/?filter=${'😀'.repeat(200)}`, { page: 1, filter: '😀'.repeat(128), refresh: true }],
  ])('%s is read', (path, query) => {
    expect(parseStatusQuery(path)).toEqual(query);
    expect(parseStatusQuery(hrefOf(query))).toEqual(query);
  });

  test('takes as much as a name can have', () => {
    expect(LONGEST_FILTER).toBe(128);
  });
});

describe('over HTTP', () => {
  test('the policy allows the one style that is there, and nothing else', async () => {
    const app = createApp(webOptions());
    const response = await app.inject('/');
    await app.close();
    expect(response.headers['content-type']).toBe('text/html; charset=utf-8');
    const style = /<style>([^]*?)<\/style>/.exec(response.body)?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(response.headers['content-security-policy']).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
    );
    expect(response.body).not.toMatch(/<script|\sstyle=|\ssrc=|\son\w+=/);
    expect(response.body).toContain('<a href="/metrics">');
  });

  test.each([
    ['/?page=2', 'Page 2 of 2'],
    ['/?page=x', 'Page 1 of 2'],
    ['/?page=999', 'Page 2 of 2'],
    ['/?page=0', 'Page 1 of 2'],
    ['/', 'Page 1 of 2'],
    ['/?filter=library-50', '1 customer with library-50 in the name'],
  ])('%s is %s', async (url, expected) => {
    const app = createApp(
      webOptions({ status: () => ({ nowMs: NOW_MS, customers: numbered(51) }) }),
    );
    const response = await app.inject(url);
    await app.close();
    expect(readable(response.body)).toContain(expected);
  });
});
