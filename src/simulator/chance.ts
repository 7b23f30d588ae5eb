/** Deterministic randomness: the same whole numbers give the same result in any order of calls. */
import type { Random } from '../base/random.ts';

/** Returns a 32-bit seed made of whole numbers; similar arguments give unrelated seeds. */
export function mixSeeds(...parts: readonly number[]): number {
  let mixed = 0x9e3779b9;
  for (const part of parts) {
    mixed = scramble(mixed ^ scramble(part | 0));
  }
  return mixed >>> 0;
}

/** Returns a number in [0, 1) made of whole numbers. */
export function chance(...parts: readonly number[]): number {
  return mixSeeds(...parts) / 2 ** 32;
}

/** Returns `digits` hexadecimal digits made of whole numbers. */
export function hexadecimal(digits: number, ...parts: readonly number[]): string {
  let text = '';
  for (let i = 0; text.length < digits; i++) {
    text += mixSeeds(...parts, i)
      .toString(16)
      .padStart(8, '0');
  }
  return text.slice(0, digits);
}

/** Draws one item of a list. Throws if it is empty. */
export function pick<Choice>(random: Random, choices: readonly Choice[]): Choice {
  if (choices.length === 0) {
    throw new Error('cannot pick from an empty list');
  }
  return choices[Math.floor(random.next() * choices.length)] as Choice;
}

/** Returns a function that draws items with probabilities proportional to their weights. */
export function weightedPicker<Choice>(
  choices: readonly Choice[],
  weightOf: (choice: Choice) => number,
): (random: Random) => Choice {
  let sum = 0;
  const upTo = choices.map((choice) => (sum += weightOf(choice)));
  return (random) => {
    const point = random.next() * sum;
    let index = 0;
    while (index < upTo.length - 1 && point >= (upTo[index] ?? 0)) {
      index++;
    }
    return choices[index] as Choice;
  };
}

/** Draws a Poisson-distributed number; large means are approximated by the normal distribution. */
export function drawPoisson(random: Random, mean: number): number {
  if (mean > 50) {
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * drawNormal(random)));
  }
  let count = 0;
  for (let rest = Math.exp(-mean), left = random.next(); left > rest; left *= random.next()) {
    count++;
  }
  return count;
}

/** Draws a number from the standard normal distribution. */
function drawNormal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}

function scramble(value: number): number {
  let mixed = (value + 0x7f4a7c15) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return mixed ^ (mixed >>> 15);
}
