/** The one with the last instant. */
export function latest<T extends { readonly at: string }>(all: readonly T[]): T | undefined {
  return all.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at)).at(-1);
}
