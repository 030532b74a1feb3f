const ROW =
  '{"date":"2026-10-01","campaign_id":"6f1d2c1e-0001-4b1f-9f60-5d2f1f0a7b11","campaign_name":"Autumn, \\"Sale\\" [EU]","spend":1234.56,"impressions":98765}';

/** The file is a JSON array of rows: `[`, many of these, and the end. */
export const BLOCK = Buffer.from(`${ROW},`.repeat(Math.floor(1_000_000 / (ROW.length + 1))));
export const END = `${ROW}]`;

export function blocksOf(about: number): number {
  return Math.max(1, Math.round(about / BLOCK.length));
}

/** Of the file that has about so many. */
export function bytesOfFile(about: number): number {
  return 1 + blocksOf(about) * BLOCK.length + END.length;
}
