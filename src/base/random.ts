/** The only module that draws random numbers. Everything else is given a Random. */

export interface Random {
  /** A number in [0, 1). */
  next(): number;
}

export const systemRandom: Random = {
  next() {
    return Math.random();
  },
};

/**
 * Returns numbers that depend on the seed alone (mulberry32, 32 bits of state): for tests and the simulator.
 */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    },
  };
}
