/**
 * Does the same for each item, a few at a time: the SDK has 50 connections, and a call that waits for one may time out.
 *
 * @returns the results in the order of the items
 */
export async function mapParallel<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const left = items.entries();
  const worker = async () => {
    for (const [at, item] of left) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: limit }, worker));
  return results;
}
