/** Which known word somebody meant. */

/** The nearest of `words`, if it is near enough to be meant. Case and `-`, `_` and spaces are no difference. */
export function nearest(word: string, words: Iterable<string>): string | undefined {
  const meant = plain(word);
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(meant.length / 3)) + 1;
  for (const candidate of words) {
    const known = plain(candidate);
    if (Math.abs(known.length - meant.length) < bestDistance) {
      const distance = editDistance(meant, known, bestDistance - 1);
      if (distance < bestDistance) {
        best = candidate;
        bestDistance = distance;
      }
    }
  }
  return best;
}

export function plain(word: string): string {
  return word.toLowerCase().replaceAll(/[-_\s]/g, '');
}

/**
 * How many characters have to be left out, put in, exchanged, or swapped with their neighbour
 * (optimal string alignment); Infinity as soon as it is certain that there are more than `most`.
 */
export function editDistance(a: string, b: string, most: number): number {
  if (hasForeign(a, b, most)) {
    return Infinity;
  }
  let beforeLast: number[] = [];
  let leastOfLast = 0;
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    let leastOfRow = i;
    for (let j = 1; j <= b.length; j += 1) {
      const exchange = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(exchange, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, (beforeLast[j - 2] ?? Infinity) + 1);
      }
      row.push(least);
      leastOfRow = Math.min(leastOfRow, least);
    }
    // No later row has less than two neighbouring ones.
    if (leastOfRow > most && leastOfLast > most) {
      return Infinity;
    }
    leastOfLast = leastOfRow;
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

/** Whether more than `most` units of `a` do not occur in `b`: each of them is left out or exchanged. */
function hasForeign(a: string, b: string, most: number): boolean {
  let foreign = 0;
  for (let i = 0; i < a.length && foreign <= most; i += 1) {
    foreign += b.includes(a.charAt(i)) ? 0 : 1;
  }
  return foreign > most;
}
