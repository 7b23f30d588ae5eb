/** Takes the pictures of the status page for the documents, from the demo: `node test/e2e/status-picture.ts`. */
import { fileURLToPath } from 'node:url';
import { launchBrowser } from './support/browser.ts';
import { startDemo } from './support/demo.ts';
import { eventually } from './support/processes.ts';

const PICTURES = [
  { name: 'status-page.png', width: 1_280, height: 900, colorScheme: 'light' },
  { name: 'status-page-phone.png', width: 420, height: 860, colorScheme: 'dark' },
] as const;

const demo = await startDemo();
await eventually('an estimate of four libraries', async () => {
  const text = await (await fetch(`${demo.url}/metrics`)).text();
  return (text.match(/^library_occupancy_estimate_people\{/gm)?.length ?? 0) >= 4 || undefined;
});
const browser = await launchBrowser();
for (const { name, width, height, colorScheme } of PICTURES) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme });
  await page.goto(demo.url);
  await page.screenshot({ path: fileURLToPath(new URL(`../../docs/${name}`, import.meta.url)) });
}
await browser.close();
await demo.stop();
