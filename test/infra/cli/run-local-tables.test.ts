import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { parseRequest } from '../../../functions/workflow/request/request.ts';
import { firstQuery } from '../../../infra/cli/query/first-query.ts';
import { runLocalQuery } from '../../../infra/cli/query/local.ts';
import { exampleRequest } from '../../../infra/cli/request.ts';
import { newestChange } from '../../../infra/local/s3/store.ts';
import { MAIN, runCommand } from '../../support/cli.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Runs a printed command as a shell does. */
async function runPrinted(command: string) {
  const line = command.replace('npm run export --', `'${process.execPath}' '${MAIN}'`);
  const child = spawn('sh', ['-c', line], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { status, stdout, stderr };
}

/** An example run whose dates stay the same if the clock passes midnight. */
async function writeRequest(directory: string): Promise<string> {
  const file = join(directory, 'request.json');
  const dates = { start_date: '2026-10-01', end_date: '2026-10-08' };
  await writeFile(file, JSON.stringify({ ...Object(exampleRequest(new Date())), ...dates }));
  return file;
}

describe('run --local', () => {
  it('ends with a query that works, on stderr with --json, and shows the newest report of each day after several runs', async () => {
    const directory = temporaryDirectory();
    const out = join(directory, 'my runs');
    const args = ['run', '--local', '--out', out, '--input', await writeRequest(directory)];
    const first = await runCommand([...args, '--speed', '1000']);
    expect(first.status).toBe(0);
    expect(first.stderr).not.toMatch(/warning|error/);
    const query = first.stdout.trim().split('\n').at(-1) ?? '';
    expect(query).toMatch(/^npm run export -- query --out /);
    const result = await runPrinted(query);
    expect([result.status, result.stderr]).toEqual([0, '42 rows\n']);
    expect(result.stdout).toMatch(/^date +campaign_name +spend\n2026-10-01 .* \d+\.\d{6}\n/);

    const newest = (await newestChange(out)) ?? Infinity;
    const wider = [...args, '--from', '2026-10-03', '--to', '2026-10-12', '--json'];
    const second = await runCommand([...wider, '--speed', '500']);
    // The first run was a thousand times faster than real time.
    expect(second.stderr).toContain('has times in the future');
    const { outcome, bucket, windows } = JSON.parse(second.stdout);
    expect(outcome).toBe('delivered');
    expect(await runPrinted(second.stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({ status: 0 });
    const manifest = JSON.parse(await readFile(join(out, bucket, windows[0].manifest_key), 'utf8'));
    expect(Date.parse(manifest.report_created_at)).toBeGreaterThan(newest);
    const days = await runLocalQuery(
      'SELECT count(DISTINCT date), count(*), count(DISTINCT (date, advertiser_id, campaign_id)) FROM example',
      out,
    );
    expect(days.rows).toEqual([['11', expect.any(String), days.rows[0]?.[1]]]);
  });
});

describe('the query of a run', () => {
  const common = { name: 'daily', account: 'acme' };
  const report = {
    ...{ ...common, start_date: '2026-10-01', end_date: '2026-10-02' },
    advertiser_ids: ['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e'],
    metrics: ['spend', 'clicks'],
  };

  const queryOf = async (input: unknown, table: string, out = temporaryDirectory()) => {
    await mkdir(join(out, 'bucket/tables', table), { recursive: true });
    const { request } = parseRequest(input, new Date());
    return firstQuery(request, { out, bucket: 'bucket' })?.replace(` --out ${out}`, '');
  };

  it.each([
    [
      'sums the first metric',
      report,
      'daily',
      'SELECT date, sum(spend) AS spend FROM daily GROUP BY ALL ORDER BY ALL',
    ],
    [
      'prefers a name to an id',
      { ...report, dimensions: ['campaign_id', 'campaign_name'] },
      'daily',
      'SELECT date, campaign_name, sum(spend) AS spend FROM daily GROUP BY ALL ORDER BY ALL',
    ],
    [
      'quotes names that SQL cannot read',
      { ...report, name: '7-days', metrics: ['roas.7d'] },
      '7-days',
      'SELECT date, sum(\\"roas.7d\\") AS \\"roas.7d\\" FROM \\"7_days\\" GROUP BY ALL ORDER BY ALL',
    ],
    [
      'shows some items of a list',
      { ...common, kind: 'list', resource: 'campaigns' },
      'daily',
      'SELECT * FROM daily LIMIT 10',
    ],
  ])('%s', async (_, input, table, sql) => {
    expect(await queryOf(input, table)).toBe(`npm run export -- query "${sql}"`);
  });

  it('is absent if no table was written', async () => {
    expect(await queryOf({ ...report, table: false }, 'daily')).toBeUndefined();
    expect(await queryOf(report, 'another')).toBeUndefined();
  });
});
