/** The status page as a person reads it, of one customer after the other. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createApp } from '../../src/web/server.ts';
import { NOW_MS, customer, pathOf, stream, webOptions } from './fixtures.ts';
import { numbered, pageOf, readable, unknownCustomer } from './page.ts';

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
