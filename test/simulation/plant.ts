/** Loaded before everything else (`node --import`), it plants the bug that PLANTED_BUG names. */
import { registerHooks } from 'node:module';
import { PLANTED_BUGS } from './planted-bugs.ts';

const name = process.env['PLANTED_BUG'];
const bug = PLANTED_BUGS.find((one) => one.name === name);
if (bug === undefined) {
  throw new Error(`there is no planted bug ${name}`);
}

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(`/src/${bug.file}`)) {
      return loaded;
    }
    const source = Buffer.isBuffer(loaded.source) ? loaded.source.toString() : loaded.source;
    const parts = typeof source === 'string' ? source.split(bug.find) : [];
    if (parts.length !== 2) {
      throw new Error(`the place of "${bug.name}" is not once in ${bug.file}`);
    }
    return { ...loaded, source: parts.join(bug.replace) };
  },
});
