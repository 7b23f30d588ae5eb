/** Numbers out of numbers: a seed for every customer and day, whatever the order they are asked in. */
import type { Random } from '../base/random.ts';

/** A 32-bit number from any whole numbers; near arguments give unlike ones. */
export function mixSeeds(...parts: readonly number[]): number {
  let mixed = 0x9e3779b9;
  for (const part of parts) {
    mixed = scramble(mixed ^ scramble(part | 0));
  }
  return mixed >>> 0;
}

/** A number in [0, 1) from any whole numbers. */
export function chance(...parts: readonly number[]): number {
  return mixSeeds(...parts) / 2 ** 32;
}

/** `digits` hexadecimal digits from any whole numbers. */
export function hexadecimal(digits: number, ...parts: readonly number[]): string {
  let text = '';
  for (let i = 0; text.length < digits; i++) {
    text += mixSeeds(...parts, i)
      .toString(16)
      .padStart(8, '0');
  }
  return text.slice(0, digits);
}

/** One of a list that is not empty. */
export function pick<Choice>(random: Random, choices: readonly Choice[]): Choice {
  const choice = choices[Math.floor(random.next() * choices.length)];
  if (choice === undefined && choices.length === 0) {
    throw new Error('nothing to pick from');
  }
  return choice as Choice;
}

function scramble(value: number): number {
  let mixed = (value + 0x7f4a7c15) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return mixed ^ (mixed >>> 15);
}
