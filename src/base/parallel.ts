/** Returns the results in the order of the items, of which `atOnce` are worked on at the same time. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item, i: number) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const queue = items.entries();
  async function takeItems(): Promise<void> {
    for (const [i, item] of queue) {
      results[i] = await work(item, i);
    }
  }
  await Promise.all(Array.from({ length: atOnce }, takeItems));
  return results;
}
