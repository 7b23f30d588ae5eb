/** Which dashboards there are, and what the file of each is called. */
import { dashboardFile } from './finish.ts';
import { libraryCustomer } from './library-customer.ts';
import { libraryExporter } from './library-exporter.ts';
import { libraryOverview } from './library-overview.ts';
import { libraryPatterns } from './library-patterns.ts';

/** The text of each file, by its name, which is the dashboard's uid. */
export function dashboardFiles(): readonly (readonly [name: string, text: string])[] {
  return [libraryOverview(), libraryCustomer(), libraryPatterns(), libraryExporter()].map(
    (dashboard) => [`${dashboard.uid}.json`, dashboardFile(dashboard)],
  );
}
