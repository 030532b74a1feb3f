import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { runCommand } from '../../../support/cli.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { FAILED, FAILURE, startBucket } from '../executions/operated-executions.ts';
import { startExecutions } from '../executions/step-functions.ts';

const FAILURE_KEY =
  'exports/account=acme/export=daily-campaigns/start_date=2026-10-01/end_date=2026-12-01/_failure.json';

it('writes the page of a stack to the file that is named', async () => {
  await startExecutions([FAILED]);
  await startBucket({ [FAILURE_KEY]: FAILURE });
  const to = join(temporaryDirectory(), 'page.html');
  const { status, stdout, stderr } = await runCommand(['page', '--to', to]);
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: `See it: ${to}\n`, stderr: '' });
  expect(await readFile(to, 'utf8')).toMatch(/the stack ad-report-export in .*ReportStuck.*explain daily-1/s);
  expect(await readdir(dirname(to))).toEqual(['page.html']);
});

it.each([
  [[], 'the page of a stack needs --to FILE; this machine has one with --local'],
  [['--local', '--stack', 'x'], "option '--stack <name>' cannot be used with option '--local'"],
  [['--to', '/no/such/page.html'], '/no/such/page.html cannot be written (ENOENT)'],
])('exits 2 with the arguments %j', async (args, expected) => {
  await startExecutions([]);
  await startBucket({});
  const { status, stderr } = await runCommand(['page', ...args]);
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(expected) });
});
