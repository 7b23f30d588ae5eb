/** The status page in a real browser: against the demo, and with customers that fail in each way. */
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createWebServer } from '../../src/web/server.ts';
import type { WebServer } from '../../src/web/server.ts';
import { manyCustomers, statusOf, webOptions } from '../web/fixtures.ts';
import { launchBrowser } from './support/browser.ts';
import { startDemo } from './support/demo.ts';
import { eventually } from './support/processes.ts';

const CUSTOMERS = 40;

let browser: Browser;
let server: WebServer;
let url: string;

beforeAll(async () => {
  server = createWebServer(webOptions({ status: () => statusOf(manyCustomers(CUSTOMERS)) }));
  ({ url } = await server.start());
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

/** A page, what the browser reports about it, and the origins of its requests. */
async function newPage(options: BrowserContextOptions = {}) {
  const page = await browser.newPage(options);
  onTestFinished(() => page.close());
  const problems: string[] = [];
  const origins = new Set<string>();
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') {
      problems.push(message.text());
    }
  });
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('requestfailed', (request) => problems.push(`failed: ${request.url()}`));
  page.on('request', (request) => origins.add(new URL(request.url()).origin));
  return { page, problems, origins };
}

test('the page of the demo shows every customer, without a problem or a request to others', async () => {
  const demo = await startDemo();
  onTestFinished(async () => {
    await demo.stop();
  });
  const { page, problems, origins } = await newPage();
  await page.goto(demo.url);
  for (const name of demo.customers) {
    expect(await page.getByRole('row').filter({ hasText: name, visible: true }).count()).toBe(1);
  }
  await eventually('a sparkline of each day', async () => {
    await page.reload();
    const sparklines = page.getByRole('img', { name: /^People inside today: / });
    return (await sparklines.count()) === 5 || undefined;
  });
  expect(problems).toEqual([]);
  expect([...origins]).toEqual([new URL(demo.url).origin]);
});

test('a filter needs no script', async () => {
  const { page, problems } = await newPage({ javaScriptEnabled: false });
  await page.goto(url);
  await page.getByLabel('Filter by name').fill('riverside-1');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.waitForURL('**/?filter=riverside-1');
  const names = await page.locator('tr.customer th').allTextContents();
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => !name.includes('riverside-1'))).toEqual([]);
  expect(await page.getByLabel('Filter by name').inputValue()).toBe('riverside-1');
  // Without an address, the page loads itself again with the filter.
  const refresh = page.locator('meta[http-equiv="refresh"]');
  expect(await refresh.getAttribute('content')).toBe('60');
  expect(problems).toEqual([]);
});

test.each([320, 1_280])(
  'on %i pixels the page is as wide as the window, and names stay when the table scrolls',
  async (width) => {
    const { page } = await newPage({ viewport: { width, height: 800 } });
    await page.goto(url);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    const [scrolls, left] = SCROLLED.parse(
      await page.evaluate(`(() => {
        const table = document.querySelector('.scroll');
        const { left } = table.getBoundingClientRect();
        table.scrollLeft = 10_000;
        const name = document.querySelector('tbody th').getBoundingClientRect();
        return [table.scrollLeft > 0, name.left - left];
      })()`),
    );
    expect([scrolls, left]).toEqual([width < 1_280, 0]);
  },
);

const SCROLLED = z.tuple([z.boolean(), z.number()]);
