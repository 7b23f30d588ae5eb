/** `npm run reference`: writes the page of the metrics. */
import { writeFileSync } from 'node:fs';
import { metricsPage } from './metrics.ts';

writeFileSync(new URL('metrics.md', import.meta.url), await metricsPage());
