/** The opening_hours library, apart from the program's global objects. Only this file loads it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createContext, runInContext } from 'node:vm';
import type Library from 'opening_hours';

/**
 * A Date whose local fields are its UTC fields: the opening_hours library reads local time, which
 * here is the wall-clock time of any zone, without gaps and repeated hours.
 */
export class WallDate extends Date {
  /** Without arguments it is 1970: the library cannot read the clock. */
  constructor(...parts: readonly number[]) {
    const [year = 0, month = 0, ...rest] = parts;
    super(parts.length > 1 ? Date.UTC(year, month, ...rest) : year);
  }

  static {
    for (const name of Object.getOwnPropertyNames(Date.prototype)) {
      if (name.includes('UTC')) {
        Object.defineProperty(this.prototype, name.replace('UTC', ''), {
          value: Reflect.get(Date.prototype, name),
        });
      }
    }
  }
}

interface Globals extends NodeJS.Dict<unknown> {
  opening_hours?: typeof Library;
}

let loaded: typeof Library | undefined;

/**
 * Returns the library, which has its own global objects: a {@link WallDate}, and a console without
 * output. It would print errors of the configuration. Loaded once, when hours are first parsed.
 */
export function loadLibrary(): typeof Library {
  if (loaded === undefined) {
    const file = createRequire(import.meta.url).resolve('opening_hours');
    const globals: Globals = { Date: WallDate, console: { error() {}, warn() {} } };
    runInContext(readFileSync(file, 'utf8'), createContext(globals), { filename: file });
    assert(globals.opening_hours, 'the file of opening_hours no longer sets a global');
    loaded = globals.opening_hours;
  }
  return loaded;
}
