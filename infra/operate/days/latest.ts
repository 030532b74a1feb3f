/** The one with the last instant. */
export function latest<T extends { readonly at: string }>(all: readonly T[]): T | undefined {
  return all.toSorted((first, second) => Date.parse(first.at) - Date.parse(second.at)).at(-1);
}
