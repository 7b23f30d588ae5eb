/** Finds the known word that a misspelt one was probably meant to be. */

/** The nearest of `words`; undefined if none is near. Case and `-`, `_` and spaces do not matter. */
export function suggest(word: string, words: Iterable<string>): string | undefined {
  const typed = normalize(word);
  let nearest: string | undefined;
  let limit = typed.length < 6 ? 2 : 3;
  for (const candidate of words) {
    const known = normalize(candidate);
    const distance =
      Math.abs(known.length - typed.length) < limit ? editDistance(typed, known) : limit;
    if (distance < limit) {
      nearest = candidate;
      limit = distance;
    }
  }
  return nearest;
}

function normalize(word: string): string {
  return word.toLowerCase().replaceAll(/[-_\s]/g, '');
}

/** Characters to delete, insert, replace or swap with their neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (beforeLast[j - 2] ?? Infinity) + 1 : Infinity;
      row.push(Math.min(replaced, swapped, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
