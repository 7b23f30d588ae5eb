/** `npm run reference`: writes the pages of the reference and the JSON Schema of the configuration. */
import { writeFileSync } from 'node:fs';
import { configJsonSchema } from './config-schema.ts';
import { referencePages } from './pages.ts';

for (const [name, text] of await referencePages()) {
  writeFileSync(new URL(name, import.meta.url), text);
}
const schema = `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
writeFileSync(new URL('../config.schema.json', import.meta.url), schema);
