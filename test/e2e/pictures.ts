/** Takes the pictures of the documents, of the status page and of a report, from the demo: `node test/e2e/pictures.ts`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { startSimulation } from '../../src/cli/service.ts';
import { exporterConfigYaml } from '../../src/simulator/demo-service.ts';
import { MAIN, Workspace } from '../acceptance/daemon.ts';
import { launchBrowser } from './support/browser.ts';
import { startDemo } from './support/demo.ts';
import { finished } from './support/processes.ts';

const browser = await launchBrowser();

async function take(url: string, name: string, width: number, height: number): Promise<void> {
  const page = await browser.newPage({ viewport: { width, height } });
  await page.goto(url);
  await page.screenshot({ path: fileURLToPath(new URL(`../../docs/${name}`, import.meta.url)) });
}

const workspace = new Workspace();
const { service, simulator } = await startSimulation({ customers: 5, seed: 1 }, '127.0.0.1:0');
const config = join(workspace.folder, 'demo.yaml');
writeFileSync(config, exporterConfigYaml(service, simulator.url));
const report = join(workspace.folder, 'report.html');
const year = new Date().getUTCFullYear();
const range = [`--from=${year - 2}-01-01`, `--to=${year}-01-01`];
const flags = ['--customer=old-town', '--format=html', `--output=${report}`];
await finished(process.execPath, [MAIN, 'report', `--config.file=${config}`, ...range, ...flags]);
await take(pathToFileURL(report).href, 'report.png', 900, 1_210);
await simulator.close();
await workspace.close();

const demo = await startDemo();
// The history of branches takes ten minutes, at one request a second.
for (let learned = 0; learned < 2; await sleep(5_000)) {
  const text = await (await fetch(`${demo.url}/metrics`)).text();
  learned = text.match(/^library_door_count_ratio\{.*branch=/gm)?.length ?? 0;
}
await take(demo.url, 'status-page.png', 1_280, 1_115);
await browser.close();
await demo.stop();
