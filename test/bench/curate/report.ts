import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { addDays } from '../../../functions/workflow/request/dates.ts';
import { type Column, reportColumns } from '../../../functions/workflow/table.ts';

export const WINDOW = { start_date: '2026-10-01', end_date: '2026-11-15' };
const DAYS = 45;
const CAMPAIGNS = 500;

export const COLUMNS: readonly Column[] = reportColumns({
  dimensions: ['campaign_id', 'campaign_name', 'country'],
  metrics: ['spend', 'impressions', 'number_of_purchases'],
});

/** Writes a JSON array with one row of about 240 bytes per line, sorted by day. */
export async function writeReport(path: string, bytes: number): Promise<void> {
  await pipeline(Readable.from(pieces(bytes)), createWriteStream(path));
}

function* pieces(bytes: number): Generator<string> {
  let written = 0;
  for (let row = 0; written < bytes; row += 1000) {
    const day = addDays(WINDOW.start_date, Math.min(DAYS - 1, Math.floor((written / bytes) * DAYS)));
    const rows = Array.from({ length: 1000 }, (_, index) => rowText(day, row + index));
    const piece = `${row === 0 ? '[' : ',\n'}${rows.join(',\n')}`;
    written += piece.length;
    yield piece;
  }
  yield ']';
}

function rowText(day: string, row: number): string {
  const random = Math.imul(row + 1, 0x9e3779b1) >>> 8;
  const campaign = random % CAMPAIGNS;
  return JSON.stringify({
    date: day,
    advertiser_id: `0b9f2c1e-0001-4b1f-9f60-${String(random % 9).padStart(12, '0')}`,
    campaign_id: `6f1d2c1e-0001-4b1f-9f60-${String(campaign).padStart(12, '0')}`,
    campaign_name: `Größe "zählt" ${campaign}`,
    country: ['US', 'DE', 'FR'][random % 3],
    spend: (random % 90_000) / 100,
    impressions: random % 99_999,
    number_of_purchases: random % 99,
  });
}
