/** What is drawn by chance: one of several choices, and how many of what comes on its own. */
import type { Random } from '../base/random.ts';

/** Things to choose from, some more often than others; `upTo` is the running sum of their weights. */
export interface Wheel<Choice> {
  readonly choices: readonly Choice[];
  readonly upTo: readonly number[];
}

export function createWheel<Choice>(
  choices: readonly Choice[],
  weightOf: (choice: Choice) => number,
): Wheel<Choice> {
  let sum = 0;
  return { choices, upTo: choices.map((choice) => (sum += weightOf(choice))) };
}

/** The choice at a number in [0, 1). The wheel must not be empty. */
export function turn<Choice>({ choices, upTo }: Wheel<Choice>, drawn: number): Choice {
  const last = choices.length - 1;
  const point = drawn * (upTo[last] ?? 0);
  let at = 0;
  while (at < last && (upTo[at] ?? 0) <= point) {
    at++;
  }
  return choices[at] as Choice;
}

/** How many of what comes by chance, `mean` on average. Large means are drawn from the bell curve. */
export function drawPoisson(random: Random, mean: number): number {
  if (mean > 50) {
    const bell =
      Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
    return Math.max(0, Math.round(mean + Math.sqrt(mean) * bell));
  }
  let count = 0;
  for (let rest = Math.exp(-mean), left = random.next(); left > rest; left *= random.next()) {
    count++;
  }
  return count;
}
