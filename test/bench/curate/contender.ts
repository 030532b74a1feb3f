import { createReadStream, createWriteStream } from 'node:fs';
import { copyFile, mkdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { curateReport } from '../../../functions/curate-report.ts';
import { requestHash } from '../../../functions/decisions/request-hash.ts';
import { openDatabase } from '../../../functions/tables/database.ts';
import { literal } from '../../../functions/tables/sql.ts';
import type { SavedWindow } from '../../../functions/workflow/states.ts';
import { reportRef, storedObject, windowOf } from '../../support/steps.ts';
import { type ContenderInput, FIELDS, SCHEMA } from './report.ts';

const TARGET = { platform: 'platform.example', revision: '2026-09-01' };

/** Copies or curates a report, in a process of its own. The objects are files of a folder. */
const { contender, path, crc32, objects, start_date, end_date, scratch } = JSON.parse(
  process.argv[2] ?? '',
) as ContenderInput;
process.env.TMPDIR = scratch;
if (contender === 'floor') await copyWithoutChecks();
else await curate();

/** Spools the file, reads its rows and writes them, and checks nothing. */
async function copyWithoutChecks(): Promise<void> {
  const spooled = join(scratch, 'spooled');
  await pipeline(createReadStream(path), createWriteStream(spooled));
  using database = await openDatabase(scratch, new AbortController().signal);
  const columns = `{date: 'DATE', campaign_id: 'VARCHAR', campaign_name: 'VARCHAR', advertiser_id: 'VARCHAR',
    spend: 'DECIMAL(18,6)', impressions: 'BIGINT', number_of_purchases: 'BIGINT'}`;
  const rows = `read_json(${literal(spooled)}, format='array', columns=${columns})`;
  await database.query(`COPY (FROM ${rows}) TO ${literal(join(scratch, 'floor.parquet'))} (FORMAT parquet)`);
}

async function curate(): Promise<void> {
  const { request: common, ...window } = windowOf([]);
  const request = { ...common, ...FIELDS, start_date, end_date };
  const schema = { ...SCHEMA, requests: { acme: requestHash(request as typeof common, TARGET) } };
  const state: SavedWindow = {
    ...window,
    request: request as typeof common,
    window: { start_date, end_date },
    reports: [reportRef(basename(path), new Date().toISOString())],
    ready_id: basename(path),
    object: storedObject({ bytes: (await stat(path)).size, crc32, copied_at: new Date().toISOString() }),
  };
  const fileOf = (key: string) => join(objects, key.replaceAll('/', '_'));
  await mkdir(objects, { recursive: true });
  const store = {
    getFile: async (key: string, to: string) => {
      const from = key === state.object.key ? path : fileOf(key);
      const isThere = await stat(from).catch(() => undefined);
      if (!isThere) return undefined;
      await pipeline(createReadStream(from), createWriteStream(to));
      return { etag: 'etag', crc32 };
    },
    putFile: async (key: string, from: string) => {
      await copyFile(from, fileOf(key));
      return true;
    },
  };
  const after = await curateReport(state, {
    store,
    catalog: { getTable: async () => schema },
    target: TARGET,
    maxBytes: Number.POSITIVE_INFINITY,
    millisecondsLeft: () => 24 * 60 * 60 * 1000,
  });
  const { curated, warnings } = after as SavedWindow;
  if (!curated?.table) throw new Error(JSON.stringify(warnings));
}
