/** Writes the generated files anew: `npm run dashboards`. A test fails where they differ. */
import { writeFileSync } from 'node:fs';
import { generatedFiles } from './dashboards.ts';

for (const [name, text] of generatedFiles()) {
  writeFileSync(new URL(name, import.meta.url), text);
}
