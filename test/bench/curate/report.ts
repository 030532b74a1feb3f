import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32 } from 'node:zlib';
import { base64Crc32 } from '../../../functions/aws/s3.ts';
import { addDays } from '../../../functions/workflow/request/dates.ts';
import { reportColumns, type TableSchema } from '../../../functions/workflow/table.ts';

/** What a contender reads and writes. */
export interface ContenderInput {
  /** `floor`: spool, read_json and COPY without checks · `step`: CurateReport, with files as objects */
  readonly contender: 'floor' | 'step';
  /** The report's file. */
  readonly path: string;
  /** Base64. */
  readonly crc32: string;
  /** The folder of the table's objects. */
  readonly objects: string;
  readonly start_date: string;
  readonly end_date: string;
  /** For files of its own. */
  readonly scratch: string;
}

/** Fields of the request. */
export const FIELDS = {
  metrics: ['spend', 'impressions', 'number_of_purchases'],
  dimensions: ['campaign_id', 'campaign_name'],
};

/** The table, whose days no report has written yet. */
export const SCHEMA: TableSchema = {
  table: 'bench',
  kind: 'report',
  date_column: 'date',
  columns: reportColumns(FIELDS),
  requests: {},
  currencies: {},
};

const CAMPAIGNS = 50_000;

/**
 * Writes a report as a JSON array. Its days take turns, which is harder to sort than day by day.
 *
 * @returns its CRC32 in Base64
 */
export async function writeReport(
  path: string,
  { bytes, start_date, days }: { bytes: number; start_date: string; days: number },
): Promise<string> {
  const dates = Array.from({ length: days }, (_, at) => addDays(start_date, at));
  const width = rowOf(start_date, 0).length + 2;
  const rows = Math.floor(bytes / width);
  const dateOf = (row: number) => dates[row % days] ?? start_date;
  let sum = 0;
  const text = (chunk: string) => {
    sum = crc32(chunk, sum);
    return chunk;
  };
  function* chunks() {
    yield text('[\n');
    for (let row = 0; row < rows; row += 1000) {
      const some = Array.from({ length: Math.min(1000, rows - row) }, (_, at) =>
        rowOf(dateOf(row + at), row + at),
      );
      yield text(`${some.join(',\n')}${row + 1000 < rows ? ',\n' : '\n]'}`);
    }
  }
  await pipeline(Readable.from(chunks()), createWriteStream(path));
  return base64Crc32(sum);
}

/** Rows of the same width, with values that compress as badly as real ones. */
function rowOf(date: string, row: number): string {
  const campaign = 100_000 + ((Math.imul(row, 2_654_435_761) >>> 0) % CAMPAIGNS);
  const number = (digits: number, seed: number) =>
    String(10 ** (digits - 1) + ((Math.imul(row + seed, 2_246_822_519) >>> 0) % (9 * 10 ** (digits - 1))));
  return JSON.stringify({
    date,
    campaign_id: `7d2f8a54-5f0e-4a3c-9f5e-${campaign}000000`,
    campaign_name: `Campaign ${campaign} for the autumn`,
    advertiser_id: '0c1ff5c1-4bd3-4fd5-8a3e-000000000001',
    spend: Number(`${number(3, 1)}.${number(6, 2)}`),
    impressions: Number(number(6, 3)),
    number_of_purchases: Number(number(3, 4)),
  });
}
