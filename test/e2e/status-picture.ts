/** Makes the picture of the status page in the README anew: `node test/e2e/status-picture.ts`. */
import { fileURLToPath } from 'node:url';
import { createWebServer } from '../../src/web/server.ts';
import { NOW_MS, webOptions } from '../web/fixtures.ts';
import { statusWorld } from '../web/status-world.ts';
import { launchBrowser } from './support/browser.ts';

const PICTURE = fileURLToPath(new URL('../../docs/status-page.png', import.meta.url));

const server = createWebServer(
  webOptions({ status: () => ({ nowMs: NOW_MS, customers: statusWorld() }) }),
);
const { url } = await server.start();
const browser = await launchBrowser();
const page = await browser.newPage({
  viewport: { width: 1_280, height: 780 },
  colorScheme: 'light',
});
await page.goto(url);
await page.screenshot({ path: PICTURE });
await browser.close();
await server.stop();
