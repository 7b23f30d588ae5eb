/** Writes the dashboards' files anew: `npm run dashboards`. A test fails where they differ. */
import { writeFileSync } from 'node:fs';
import { dashboardFiles } from './dashboards.ts';

for (const [name, text] of dashboardFiles()) {
  writeFileSync(new URL(`dashboards/${name}`, import.meta.url), text);
}
