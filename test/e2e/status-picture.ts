/** Takes the picture of the status page for the documents, from the demo: `node test/e2e/status-picture.ts`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from './support/browser.ts';
import { startDemo } from './support/demo.ts';

const demo = await startDemo();
// The history of branches takes ten minutes, at one request a second.
for (let learned = 0; learned < 2; await sleep(5_000)) {
  const text = await (await fetch(`${demo.url}/metrics`)).text();
  learned = text.match(/^library_door_count_ratio\{.*branch=/gm)?.length ?? 0;
}
const browser = await launchBrowser();
const page = await browser.newPage({ viewport: { width: 1_280, height: 1_090 } });
await page.goto(demo.url);
await page.screenshot({
  path: fileURLToPath(new URL('../../docs/status-page.png', import.meta.url)),
});
await browser.close();
await demo.stop();
