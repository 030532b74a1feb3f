import { writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createObjectStore } from '../../../functions/aws/objects.ts';
import { publishDays } from '../../../functions/curate/publish-days.ts';
import { CurateLimit, type OpenReport } from '../../../functions/curate/report.ts';
import { AccessRefused, ServiceUnavailable } from '../../../functions/workflow/errors.ts';
import { daysOf } from '../../../functions/workflow/request/dates.ts';
import { awsEnvironment, SETTINGS, setEnvironment } from '../../support/lambda.ts';
import { startTestS3 } from '../../support/s3.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { open } from './reports.ts';

const WINDOW = { start_date: '2026-10-01', end_date: '2026-10-21' };
const DAYS = daysOf(WINDOW);
const VERSION = { report_id: 'r1', created_at: '2026-11-01T00:00:00.000Z', request_hash: 'h' };

async function startTarget() {
  const s3 = await startTestS3({ requireOwner: true });
  onTestFinished(() => s3.close());
  setEnvironment(awsEnvironment({ S3: s3.endpoint }));
  const store = createObjectStore(SETTINGS);
  return { s3, target: { store, table: 'daily', account: 'acme', window: WINDOW, version: VERSION } };
}

/** A report that cannot write this day. */
function failingAt(day: string, failure: Error): { report: OpenReport; folder: string } {
  const folder = temporaryDirectory();
  const path = join(folder, 'day.parquet');
  const report: OpenReport = {
    facts: { rows: 0, sums: {}, days: [], warnings: [] },
    async writeDay(each) {
      if (each === day) throw failure;
      writeFileSync(path, each);
      return path;
    },
    readMetadata: async () => ({}),
    async [Symbol.asyncDispose]() {},
  };
  return { report, folder };
}

it.each([
  ['46: a limit', new CurateLimit('time')],
  ['41: a refusal', new AccessRefused('AWS refused.')],
])('%s between two days leaves those that are written, and names the reason', async (_, failure) => {
  const { s3, target } = await startTarget();
  const { report, folder } = failingAt('2026-10-05', failure);
  const { days, stopped } = await publishDays(report, target);
  expect(stopped).toBe(failure);
  const put = s3.journal.filter(({ method, status }) => method === 'PUT' && status === 200);
  const shown = put.map(({ key }) => /date=([\d-]+)/.exec(key)?.[1]).sort();
  expect(days.map(({ day }) => day)).toEqual(shown);
  expect(shown.slice(0, 4)).toEqual(DAYS.slice(0, 4));
  expect(shown.length).toBeLessThan(DAYS.length - 1);
  expect((await readdir(folder)).filter((file) => file !== 'day.parquet')).toEqual([]);
});

it('44: throws what another try may cure, also beside a refusal', async () => {
  const { s3, target } = await startTarget();
  s3.faults.push({ operation: 'PutObject', key: 'date=2026-10-01/data.parquet', answer: 'SlowDown' });
  const { report } = failingAt('2026-10-02', new AccessRefused('AWS refused.'));
  await expect(publishDays(report, target)).rejects.toThrow(ServiceUnavailable);
});

it('44: reads the values that a day shows from its Parquet file, also from a large footer', async () => {
  const { s3, target } = await startTarget();
  const window = { start_date: '2026-10-01', end_date: '2026-10-02' };
  const names = Array.from({ length: 60 }, (_, at) => `metric_${at}_${'x'.repeat(200)}`);
  const columns = names.map((name) => ({ name, type: 'bigint' as const }));
  const publish = async (value: number, report_id: string) => {
    const row = { date: '2026-10-01', ...Object.fromEntries(names.map((name) => [name, value])) };
    const schema = { date_column: 'date', columns };
    await using report = await open(JSON.stringify([row]), { window, schema, columns });
    const { days } = await publishDays(report, { ...target, window, version: { ...VERSION, report_id } });
    return days;
  };
  expect(await publish(1, 'r1')).toMatchObject([{ kept: false }]);
  const before = { rows: 1, sums: Object.fromEntries(names.map((name) => [name, '1'])) };
  const restated = [{ kept: false, before }];
  expect(await publish(2, 'r2')).toMatchObject(restated);
  expect(await publish(2, 'r2')).toMatchObject(restated);
  expect(s3.journal.filter(({ operation }) => operation === 'GetObject')).toHaveLength(4);
  const key = 'tables/daily/account=acme/date=2026-10-01/data.parquet';
  expect(await target.store.readEnd(key, '"of another object"', 8)).toBeUndefined();
});
