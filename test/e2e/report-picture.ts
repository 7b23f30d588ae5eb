/** Takes the picture of a report for the documents, from the demo's service: `node test/e2e/report-picture.ts`. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { startSimulation } from '../../src/cli/service.ts';
import { exporterConfigYaml } from '../../src/simulator/demo-service.ts';
import { MAIN, Workspace } from '../acceptance/daemon.ts';
import { launchBrowser } from './support/browser.ts';
import { finished } from './support/processes.ts';

const workspace = new Workspace();
const { service, simulator } = await startSimulation({ customers: 5, seed: 1 }, '127.0.0.1:0');
const config = join(workspace.folder, 'demo.yaml');
writeFileSync(config, exporterConfigYaml(service, simulator.url));
const page = join(workspace.folder, 'report.html');
const year = new Date().getUTCFullYear();
const range = [`--from=${year - 2}-01-01`, `--to=${year}-01-01`];
const flags = ['--customer=old-town', '--format=html', `--output=${page}`];
await finished(process.execPath, [MAIN, 'report', `--config.file=${config}`, ...range, ...flags]);
const browser = await launchBrowser();
const tab = await browser.newPage({ viewport: { width: 900, height: 1_210 } });
await tab.goto(pathToFileURL(page).href);
await tab.screenshot({ path: fileURLToPath(new URL('../../docs/report.png', import.meta.url)) });
await browser.close();
await simulator.close();
await workspace.close();
