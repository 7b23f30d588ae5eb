/**
 * A Date whose local fields are its UTC fields, lent to a library that reads local time. Wall clock
 * times of any zone can be written in it: it has no gaps and no repeated hours, whatever zone the
 * process runs in. Must not know what is calculated with it.
 */
const SystemDate = Date;

/** Without arguments it is 1970: nothing that is run under it can read the clock. */
const WallDate = createWallDate();

/**
 * Runs `calculate` with `Date` exchanged for one whose local fields are UTC. It must be synchronous;
 * nothing else runs meanwhile, and the exchange ends with it even if it throws.
 */
export function underWallDate<Result>(calculate: () => Result): Result {
  const before = globalThis.Date;
  globalThis.Date = WallDate;
  try {
    return calculate();
  } finally {
    globalThis.Date = before;
  }
}

function createWallDate(): DateConstructor {
  class Wall extends SystemDate {
    constructor(...parts: readonly number[]) {
      const [year = 0, month = 0, ...rest] = parts;
      super(parts.length > 1 ? SystemDate.UTC(year, month, ...rest) : year);
    }
    override getTimezoneOffset(): number {
      return 0;
    }
  }
  for (const name of Object.getOwnPropertyNames(SystemDate.prototype)) {
    if (name.includes('UTC')) {
      Object.defineProperty(Wall.prototype, name.replace('UTC', ''), {
        value: Reflect.get(SystemDate.prototype, name),
      });
    }
  }
  // Called without `new`, Date is a text; nothing here does, so the class can stand in for it.
  return Wall as DateConstructor;
}
