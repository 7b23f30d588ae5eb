/** The status page of many customers: their order, the pages, and the filter. */
import { describe, expect, test } from 'vitest';
import { byTrouble } from '../../src/web/status-data.ts';
import { LONGEST_FILTER, hrefOf, parseStatusQuery } from '../../src/web/status-query.ts';
import { customer, stream } from './fixtures.ts';
import { numbered, pageOf, readable, unknownCustomer } from './page.ts';

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
