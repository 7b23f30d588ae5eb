/** Writes the dashboards' files anew: `node grafana/generate.ts`. A test fails where they differ. */
import { writeFileSync } from 'node:fs';
import { dashboardFile } from './finish.ts';
import { libraryOverview } from './library-overview.ts';

writeFileSync(
  new URL('dashboards/library-overview.json', import.meta.url),
  dashboardFile(libraryOverview()),
);
