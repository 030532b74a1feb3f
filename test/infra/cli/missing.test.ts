import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { MissingDays } from '../../../infra/cli/missing.ts';
import { runCommand } from '../../support/cli.ts';
import { startCommandRun } from '../../support/command-run.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { curate, deliver, openFolder } from './deliveries.ts';

const RANGE = { start_date: '2026-10-05', end_date: '2026-10-12' };

async function pathsIn(out: string, part: string): Promise<string[]> {
  const paths = await readdir(out, { recursive: true });
  return paths.filter((path) => path.includes(part)).map((path) => join(out, path));
}

it('names the days that are missing, why, and the commands that bring them', async () => {
  const { args, out } = await startCommandRun(RANGE);
  expect((await runCommand(args)).status).toBe(0);
  const options = ['missing', 'daily', '--local', '--out', out, '--from', '2026-10-03', '--to', '2026-10-12'];

  const [day] = await pathsIn(out, 'date=2026-10-08/data.parquet');
  await rm(day ?? '');
  const { status, stdout } = await runCommand([...options, '--json']);
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    outcome: 'ok',
    account: 'sandbox',
    name: 'daily',
    days: 9,
    start_date: '2026-10-03',
    end_date: '2026-10-12',
    missing: [
      { start_date: '2026-10-03', end_date: '2026-10-05', days: 2, reason: 'absent' },
      { start_date: '2026-10-08', end_date: '2026-10-09', days: 1, reason: 'not_in_table' },
    ],
  });

  const shown = (await runCommand(options)).stdout;
  expect(shown).toContain('sandbox/daily, 2026-10-03 to 2026-10-11: 3 of 9 days are missing');
  expect(shown).toContain('2026-10-03 to 2026-10-04  not exported');
  // Only the user knows the file of a request that is not in cdk.json.
  expect(shown).toContain(
    `npm start -- --input REQUEST.json --out ${out} --from 2026-10-03 --to 2026-10-05 --only-missing\n`,
  );
  expect(shown).toContain('  2026-10-08  exported, but not in the table\n');
  expect(shown).toContain(`curate daily --local --out ${out} --from 2026-10-08 --to 2026-10-09`);

  const curated = await runCommand(['curate', 'daily', '--local', '--out', out]);
  expect(curated).toMatchObject({ status: 0 });
  expect(JSON.parse((await runCommand([...options, '--json'])).stdout).missing).toHaveLength(1);
});

it.each([
  ['UTC', undefined, []],
  ['its time zone', 'America/Los_Angeles', ['unfinished']],
])('reads in a folder when a day was over in %s', async (_, time_zone, reasons) => {
  const folder = await openFolder();
  await deliver(folder, { days: [31, 31], created: 3, ...(time_zone !== undefined && { time_zone }) });
  const place = ['daily', '--local', '--out', folder.out];
  await curate(place);
  const { stdout } = await runCommand(['missing', ...place, '--to', '2026-11-01', '--json']);
  const { missing }: MissingDays = JSON.parse(stdout);
  expect(missing.map(({ reason }) => reason)).toEqual(reasons);
});

it('asks which account is meant if several have the export, and repeats it in the commands', async () => {
  const folder = await openFolder();
  await deliver(folder, { account: 'acme', days: [1, 3], created: 1 });
  await deliver(folder, { account: 'globex', days: [1, 2], created: 2 });
  const options = ['missing', 'daily', '--local', '--out', folder.out, '--to', '2026-10-03'];
  expect(await runCommand(options)).toMatchObject({
    status: 2,
    stderr: 'error: acme and globex have an export daily; choose one with --account\n',
  });
  const { stdout } = await runCommand([...options, '--account', 'acme']);
  expect(stdout).toContain('acme/daily, 2026-10-01 to 2026-10-02: 2 of 2 days are missing');
  expect(stdout).toContain(`curate daily --account acme --local --out ${folder.out} --from 2026-10-01`);
});

it('says what is wrong with the export or the range', async () => {
  const out = temporaryDirectory();
  const missing = async (...args: string[]) => {
    const { status, stderr } = await runCommand(['missing', ...args]);
    return { status, stderr: stderr.split('\n', 1)[0] };
  };
  expect(await missing('daily', '--local', '--out', out)).toMatchObject({ status: 2 });
  expect(await missing('daily', '--out', out)).toEqual({
    status: 2,
    stderr: 'error: --out can only be used with --local',
  });
  expect(await missing('daily', '--local', '--from', '2026-13-01')).toMatchObject({ status: 2 });
});
