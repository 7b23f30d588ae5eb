import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startDemo } from './support/demo.ts';
import type { Demo } from './support/demo.ts';
import { debianProgram } from './support/processes.ts';

let demo: Demo;
let browser: Browser;

beforeAll(async () => {
  const executablePath = debianProgram('/usr/bin/chromium');
  demo = await startDemo();
  browser = await chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
});

afterAll(async () => {
  await browser?.close();
  await demo?.stop();
});

test('the status page shows every customer, complains of nothing and asks nobody else', async () => {
  const page = await browser.newPage();
  const complaints: string[] = [];
  const origins = new Set<string>();
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') {
      complaints.push(message.text());
    }
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('requestfailed', (request) => complaints.push(`failed: ${request.url()}`));
  page.on('request', (request) => origins.add(new URL(request.url()).origin));

  const answer = await page.goto(`${demo.url}/`, { waitUntil: 'load' });
  expect(answer?.status()).toBe(200);
  expect(await page.title()).not.toBe('');
  expect(demo.customers).toHaveLength(5);
  for (const customer of demo.customers) {
    const row = page.getByRole('row').filter({ hasText: customer });
    expect(await row.count()).toBe(1);
    expect(await row.isVisible()).toBe(true);
  }
  expect(complaints).toEqual([]);
  expect([...origins]).toEqual([new URL(demo.url).origin]);
  await page.close();
});
