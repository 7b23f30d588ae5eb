/** Writes the pages of the reference anew: `npm run reference`. A test fails where they differ. */
import { writeFileSync } from 'node:fs';
import { referencePages } from './pages.ts';

for (const [name, text] of await referencePages()) {
  writeFileSync(new URL(name, import.meta.url), text);
}
