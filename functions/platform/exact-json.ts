/** What JSON.parse gives a reviver since Node 21; TypeScript's library does not know it yet. */
interface Source {
  readonly source?: string;
}

const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };

/**
 * Parses as JSON.parse, and keeps each number that would be written back differently (an id of 19 digits, 1.0, 1e400)
 * as raw JSON, which JSON.stringify writes as it came.
 */
export function parseExactJson(text: string): unknown {
  const keep = (_key: string, value: unknown, { source }: Source) =>
    typeof value === 'number' && source !== undefined && String(value) !== source ? rawJSON(source) : value;
  return JSON.parse(text, keep as (key: string, value: unknown) => unknown);
}
