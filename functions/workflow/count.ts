/**
 * A count before its noun: `1 day`, `3 days`.
 *
 * @param noun in the singular; its plural ends with an s
 * @param digits as the reader sees the number
 */
export function count(many: number, noun: string, digits = String(many)): string {
  return `${digits} ${noun}${many === 1 ? '' : 's'}`;
}
