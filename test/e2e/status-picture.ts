/** Makes the pictures of the status page in the README anew: `node test/e2e/status-picture.ts`. */
import { fileURLToPath } from 'node:url';
import { createWebServer } from '../../src/web/server.ts';
import { NOW_MS } from '../metrics/fixtures.ts';
import { webOptions } from '../web/fixtures.ts';
import { statusWorld } from '../web/status-world.ts';
import { launchBrowser } from './support/browser.ts';

const PICTURES = [
  { name: 'status-page.png', width: 1_280, height: 780, colorScheme: 'light' },
  { name: 'status-page-phone.png', width: 420, height: 860, colorScheme: 'dark' },
] as const;

const server = createWebServer(
  webOptions({
    status: () => ({ nowMs: NOW_MS, customers: statusWorld(), failedReload: undefined }),
  }),
);
const { url } = await server.start();
const browser = await launchBrowser();
for (const { name, width, height, colorScheme } of PICTURES) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme });
  await page.goto(url);
  await page.screenshot({ path: fileURLToPath(new URL(`../../docs/${name}`, import.meta.url)) });
}
await browser.close();
await server.stop();
