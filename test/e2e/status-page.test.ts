/** The status page in a real browser: of the demo, and of many customers. */
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createWebServer } from '../../src/web/server.ts';
import type { WebServer } from '../../src/web/server.ts';
import { customer, numbered, statusOf, webOptions, withBranches } from '../web/fixtures.ts';
import { startDemo } from './support/demo.ts';
import { debianProgram, eventually } from './support/processes.ts';

let browser: Browser;

beforeAll(async () => {
  browser = await chromium.launch({
    executablePath: debianProgram('chromium'),
    // Nothing that it would do by itself.
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-sync'],
  });
});

afterAll(() => browser?.close());

test('the page of the demo shows every customer, without a problem or a request to others', async () => {
  const demo = await startDemo();
  onTestFinished(async () => {
    await demo.stop();
  });
  const page = await browser.newPage();
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
  await page.goto(demo.url);
  for (const name of demo.customers) {
    expect(await page.getByRole('row').filter({ hasText: name, visible: true }).count()).toBe(1);
  }
  await eventually(async () => {
    await page.reload();
    const sparklines = page.getByRole('img', { name: /^People inside today: / });
    return (await sparklines.count()) === 5;
  });
  expect(problems).toEqual([]);
  expect([...origins]).toEqual([new URL(demo.url).origin]);
});

test.each([320, 1_280])('on %i pixels only the table scrolls, beside its names', async (width) => {
  const status = statusOf([customer(withBranches({}, {}, {})), ...numbered(39)]);
  const server: WebServer = createWebServer(webOptions({ status: () => status }));
  onTestFinished(() => server.stop());
  const page = await browser.newPage({ viewport: { width, height: 800 } });
  await page.goto((await server.start()).url);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
  const scrolled = await page.evaluate(`(() => {
      const table = document.querySelector('.scroll');
      const { left } = table.getBoundingClientRect();
      table.scrollLeft = 10_000;
      const name = document.querySelector('tbody th').getBoundingClientRect();
      return [table.scrollLeft > 0, name.left - left];
    })()`);
  expect(scrolled).toEqual([width < 1_280, 0]);
});
