import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createApp } from '../../src/web/server.ts';
import { troubleFirst } from '../../src/web/status-data.ts';
import type { StatusCustomer } from '../../src/web/status-data.ts';
import { renderStatusPage } from '../../src/web/status-page.ts';
import { NOW_MS, customer, stream, webOptions } from './fixtures.ts';

function pageOf(customers: readonly StatusCustomer[], page = 1): string {
  return renderStatusPage(
    { nowMs: NOW_MS, customers },
    { version: '1.2.3', telemetryPath: '/metrics', page },
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

/** As the service says nothing yet. */
function unknownCustomer(): StatusCustomer {
  return customer({
    open: undefined,
    capacity: undefined,
    occupancy: undefined,
    credentialsValid: undefined,
    kinds: { people_entered: { today: undefined } },
    streams: { people: stream({ up: undefined, lastSuccessMs: undefined, polls: 0 }) },
  });
}

describe('one customer', () => {
  test('shows who is inside, the figures of the day and how the polls go', () => {
    expect(readable(pageOf([customer()]))).toContain(
      'riverside Europe/Copenhagen Open 42 of 250 42 of 250 1 321 279 55 ● people good 12s ago 100 polls',
    );
  });

  test('what is not known is a dash, never 0', () => {
    const text = readable(pageOf([unknownCustomer()]));
    expect(text).toContain('riverside Europe/Copenhagen – – – – – ○ people not polled yet 0 polls');
  });

  test('a library that is closed and empty says so', () => {
    const text = readable(pageOf([customer({ open: false, occupancy: 0 })]));
    expect(text).toContain('Closed 0 of 250');
  });

  test('the last error stands there in words, with its age', () => {
    const people = stream({
      up: false,
      lastSuccessMs: NOW_MS - 2 * 86_400_000 - 3_600_000 - 59_000,
      failures: 7,
      skipped: 2,
      lastError: { message: 'The service answered 503', atMs: NOW_MS - 61_000 },
    });
    expect(readable(pageOf([customer({ streams: { people } })]))).toContain(
      '✕ people failing , last good 2d1h ago 7 of 100 polls failed, 2 skipped The service answered 503 1m1s ago',
    );
  });

  test('refused credentials are said in words', () => {
    expect(readable(pageOf([customer({ credentialsValid: false })]))).toContain(
      'The service refuses the credentials.',
    );
  });

  test('an instant ahead of the clock is now, not a negative age', () => {
    const people = stream({ lastSuccessMs: NOW_MS + 60_000 });
    expect(readable(pageOf([customer({ streams: { people } })]))).toContain('good 0s ago');
  });

  test('nothing that comes from outside can become markup', () => {
    const nasty = `"><script>alert('x')</script>&amp;`;
    const people = stream({ up: false, lastError: { message: nasty, atMs: NOW_MS } });
    const page = pageOf([customer({ customer: nasty, timezone: nasty, streams: { people } })]);
    const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;';
    expect(page).not.toContain('<script');
    expect(page.split(escaped)).toHaveLength(4);
  });
});

describe('many customers', () => {
  test('trouble comes first, refused credentials before failing polls, otherwise in order', () => {
    const failing = { streams: { people: stream({ up: false }) } };
    const order = troubleFirst([
      customer({ customer: 'fine 1' }),
      customer({ customer: 'failing 1', ...failing }),
      customer({ customer: 'waiting', streams: { people: stream({ up: undefined }) } }),
      customer({ customer: 'fine 2' }),
      customer({ customer: 'refused', credentialsValid: false }),
      customer({ customer: 'failing 2', ...failing }),
    ]).map((each) => each.customer);
    expect(order).toEqual(['refused', 'failing 1', 'failing 2', 'waiting', 'fine 1', 'fine 2']);
  });

  test('the sum of trouble is on top', () => {
    expect(readable(pageOf([customer(), customer({ credentialsValid: false })]))).toContain(
      '2 customers, 1 in trouble . 2026-03-10 09:00:00 UTC',
    );
    expect(readable(pageOf([customer()]))).toContain('1 customer, none in trouble.');
  });

  test('200 rows are a page, and pages are linked', () => {
    const customers = Array.from({ length: 401 }, (_, i) => customer({ customer: `library-${i}` }));
    expect(
      [1, 2, 3].map((page) => pageOf(customers, page).match(/<th scope="row">/g)?.length),
    ).toEqual([200, 200, 1]);
    expect(pageOf(customers, 2)).toContain('library-200 ');
    expect(pageOf(customers, 2)).toContain('href="?page=1"');
    expect(pageOf(customers, 2)).toContain('href="?page=3"');
    expect(pageOf(customers, 99)).toContain('Page 3 of 3');
    expect(pageOf(customers, 0)).toContain('Page 1 of 3');
    expect(pageOf(customers.slice(0, 200))).not.toContain('<nav');
  });

  test('no customers are a page, too', () => {
    expect(readable(pageOf([]))).toContain('0 customers, none in trouble.');
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
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(response.body).not.toMatch(/<script|\sstyle=|\ssrc=|\son\w+=/);
    expect(response.body).toContain('<a href="/metrics">');
  });

  test.each([
    ['/?page=2', 'Page 2 of 2'],
    ['/?page=x', 'Page 1 of 2'],
    ['/?page=-1', 'Page 1 of 2'],
    ['/?page=2&page=1', 'Page 2 of 2'],
    ['/?page=9999999999999', 'Page 1 of 2'],
    ['/', 'Page 1 of 2'],
  ])('%s is %s', async (url, expected) => {
    const customers = Array.from({ length: 201 }, () => customer());
    const app = createApp(webOptions({ status: () => ({ nowMs: NOW_MS, customers }) }));
    const response = await app.inject(url);
    await app.close();
    expect(response.body).toContain(expected);
  });
});
