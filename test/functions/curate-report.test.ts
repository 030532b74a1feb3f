import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { base64Crc32 } from '../../functions/aws/s3.ts';
import { curateReport } from '../../functions/curate-report.ts';
import { requestHash } from '../../functions/decisions/request-hash.ts';
import { TableProblem } from '../../functions/tables/report.ts';
import { AccessRefused } from '../../functions/workflow/errors.ts';
import type { SavedWindow } from '../../functions/workflow/states.ts';
import { reportColumns, type TableSchema } from '../../functions/workflow/table.ts';
import { reportRef, storedObject, windowOf } from '../support/steps.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { TABLE } from './tables/curations.ts';

const BODY = '[{"date":"2026-11-01","spend":1}]';
const target = { platform: 'api.platform.example/v1', revision: '2026-09-01' };
const window = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const SCHEMA: TableSchema = {
  ...TABLE,
  columns: reportColumns(window.request),
  requests: { acme: requestHash(window.request, target) },
};
const state: SavedWindow = {
  ...window,
  status: 'saved',
  reports: [reportRef('r1')],
  ready_id: 'r1',
  object: storedObject({ bytes: BODY.length, crc32: base64Crc32(crc32(BODY)), version_id: 'v7' }),
};

interface Conditions {
  readonly table?: () => TableSchema | undefined;
  readonly reading?: (signal: AbortSignal) => Promise<unknown>;
  readonly month?: () => undefined;
  /** The checksum of the object that is there. */
  readonly checksum?: string;
  readonly maxBytes?: number;
  readonly seconds?: number;
  readonly replaced_copies?: number;
  readonly temporary?: string;
}

/** Curates the report, and returns what is known then and the keys that were opened and written. */
async function curate({ table = () => SCHEMA, month, reading, ...conditions }: Conditions = {}) {
  const calls: string[] = [];
  const { checksum = state.object.crc32, maxBytes = 1e6, seconds = 900, replaced_copies = 0 } = conditions;
  const store = {
    getFile: async (key: string, path: string, signal: AbortSignal, version?: string) => {
      if (key !== state.object.key) return month?.();
      calls.push(`read ${key} ${version}`);
      await reading?.(signal);
      writeFileSync(path, BODY);
      return { etag: '', crc32: checksum };
    },
    putFile: async (key: string) => calls.push(`put ${key}`) > 0,
  };
  const catalog = { getTable: async () => table() };
  vi.stubEnv('TMPDIR', conditions.temporary ?? temporaryDirectory());
  const after = await curateReport(
    { ...state, replaced_copies },
    { store, catalog, target, maxBytes, millisecondsLeft: () => 1000 * seconds },
  );
  return { after: after as SavedWindow, calls };
}

const untilAborted = async (signal: AbortSignal) => signal.aborted || once(signal, 'abort');
const LEDGER = 'put tables/ledger/acme.daily.2026-11.parquet';

describe('CurateReport', () => {
  it('45: reads the version that SaveReport stored, and writes its days', async () => {
    const { after, calls } = await curate();
    expect(after).toMatchObject({ status: 'curated', object: { rows: 1 }, curated: { table: { days: 1 } } });
    expect(calls).toEqual(['read report.json v7', 'put tables/daily/acme.2026-11.parquet', LEDGER]);
  });

  const fail = (error: Error) => () => {
    throw error;
  };
  const lacks = fail(new AccessRefused('AWS refused to read table daily. The role needs glue:GetTable.'));
  const lacksMessage = /^table daily is not written: .*glue:GetTable; see TableProblems in infra/;
  const full = fail(new TableProblem('the file needs more storage'));
  const another = () => ({ ...SCHEMA, requests: { acme: 'another' } });
  it.each<[string, Conditions, RegExp, boolean]>([
    ['41: Glue refuses', { table: lacks }, lacksMessage, true],
    ['42: there is no table', { table: () => undefined }, /no such table/, false],
    ['42: another request is configured', { table: another }, /the request differs/, false],
    ['46: the storage is full', { month: full }, /not written.*storage; see/, true],
  ])('counts the rows, writes no day and warns if %s', async (_, conditions, warning, isProblem) => {
    const { after, calls } = await curate(conditions);
    expect(after).toMatchObject({ object: { rows: 1 }, curated: { sums: { spend: '1' } } });
    expect(after.warnings[0]).toMatch(warning);
    expect(after.curated?.table_problem !== undefined).toBe(isProblem);
    expect(calls.filter((call) => call.startsWith('put tables/daily'))).toEqual([]);
  });

  it.each<[string, Conditions, RegExp]>([
    ['max_curate_bytes', { maxBytes: BODY.length - 1 }, /more than max_curate_bytes \(32\)/],
    // The step stops itself a minute before the function's end.
    [
      'its timeout',
      { seconds: 60, reading: untilAborted },
      /timeout; raise memory_mb of CurateReport.*local run: the machine was busy/,
    ],
    ['its copies', { checksum: 'other', replaced_copies: 3 }, /: other runs replaced the file 4 times/],
  ])('46: delivers a file without rows, and the warning names %s', async (_, conditions, limit) => {
    const { after } = await curate(conditions);
    expect(after.warnings).toEqual([expect.stringMatching(limit)]);
    expect(after.object.rows).toBeUndefined();
  });

  it('28: leaves no files, and removes those of a killed call', async () => {
    const parent = temporaryDirectory();
    mkdirSync(join(parent, 'curate-report/rows'), { recursive: true });
    const reading = async () => expect(readdirSync(join(parent, 'curate-report'))).toEqual(['file']);
    const { after } = await curate({ reading, temporary: parent });
    expect(after).toMatchObject({ status: 'curated', object: { rows: 1 } });
    expect(readdirSync(parent)).toEqual([]);
  });

  it('45: has a file copied again that another run has replaced', async () => {
    const { after, calls } = await curate({ checksum: 'other' });
    expect(after).toMatchObject({ status: 'ready', wait_seconds: 10, replaced_copies: 1 });
    expect(after).not.toHaveProperty('object');
    expect(calls).toEqual(['read report.json v7']);
  });
});
