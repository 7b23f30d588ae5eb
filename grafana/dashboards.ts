/** All dashboards and their files. */
import { dashboardFile } from './finish.ts';
import { libraryCustomer } from './library-customer.ts';
import { libraryExporter } from './library-exporter.ts';
import { libraryNow } from './library-now.ts';
import { libraryOverview } from './library-overview.ts';
import { libraryPatterns } from './library-patterns.ts';
import { libraryStatistics } from './library-statistics.ts';

/** The text of each file by its name. */
export function dashboardFiles(): readonly (readonly [name: string, text: string])[] {
  return [
    libraryOverview(),
    libraryCustomer(),
    libraryPatterns(),
    libraryStatistics(),
    libraryNow(),
    libraryExporter(),
  ].map((dashboard) => [`${dashboard.uid}.json`, dashboardFile(dashboard)]);
}
