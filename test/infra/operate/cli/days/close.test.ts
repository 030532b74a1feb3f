import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCommand } from '../../../../support/cli.ts';
import { writeParquet } from '../../../../support/ledger-rows.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { BUCKET, deliver, openFolder, queryRows, rebuild } from '../../days/deliveries.ts';

const DAY = 24;

/** A folder of an export, with the commands that a person runs in it. */
async function openExport() {
  const folder = await openFolder();
  const place = ['--local', '--out', folder.out];
  const command = (words: string) => `  npm run export -- ${words} ${place.join(' ')}`;
  return {
    out: folder.out,
    command,
    /** @param created the hour, from November 1 on, in which the report was created */
    async run({ days, created, spend }: { days: readonly [number, number]; created: number; spend: number }) {
      await deliver(folder, { days, created, spend });
      await rebuild(['daily', ...place]);
    },
    async close(...options: readonly string[]) {
      const { status, stdout } = await runCommand(['close', '2026-10', ...options, ...place]);
      return { status, lines: stdout.trimEnd().split('\n') };
    },
    async closedMonths() {
      const { stdout } = await runCommand(['status', '--json', ...place]);
      return JSON.parse(stdout).exports[0].closed;
    },
    /** What changed since the close, as the saved query tells it. */
    async changes(): Promise<{ date: string; metric: string; change: string }[]> {
      const { stdout } = await runCommand(['query', '--saved', 'since-close', '--json', ...place]);
      return JSON.parse(stdout).rows;
    },
    ledger: join(folder.out, BUCKET, 'tables/ledger/acme.daily.2026-10.parquet'),
  };
}

/** An export whose days of October are all final. */
async function openFinal() {
  const opened = await openExport();
  await opened.run({ days: [1, 31], created: 1, spend: 5 });
  await opened.run({ days: [1, 31], created: 10 * DAY, spend: 5 });
  return opened;
}

/** An export whose October was closed, and of which four days changed since then. */
async function openChanged() {
  const opened = await openFinal();
  expect(await opened.close()).toMatchObject({ status: 0 });
  await opened.run({ days: [3, 6], created: 21 * DAY, spend: 6.5 });
  return opened;
}

const CHANGES = ['03', '04', '05', '06'].map((day) => ({
  date: `2026-10-${day}`,
  metric: 'spend',
  change: '1.5000000000',
}));

it('close refuses a month of which days are not final, and prints the command for each reason', async () => {
  const { run, close, closedMonths, command } = await openExport();
  await run({ days: [2, 31], created: 1, spend: 5 });
  const all = '--from 2026-10-01 --to 2026-11-01';
  expect(await close()).toEqual({
    status: 1,
    lines: [
      'acme/daily  2026-10 is not closed: 30 days unverified, 1 day lacking',
      'To read the unverified days again, from 2026-11-07 on:',
      command('run daily --account acme --from 2026-10-02 --to 2026-11-01'),
      'To see the days that lack something:',
      command(`missing daily --account acme ${all}`),
      'To close it all the same:',
      command('close 2026-10 daily --account acme --anyway'),
    ],
  });
  expect(await closedMonths()).toEqual([]);
});

it('close closes a month of final days', async () => {
  const { close, closedMonths, command } = await openFinal();
  expect(await close()).toEqual({
    status: 0,
    lines: [
      'acme/daily  2026-10 is closed. To see later what changed:',
      command('query --saved since-close'),
    ],
  });
  expect(await closedMonths()).toMatchObject([{ month: '2026-10', days: 0, changes: {} }]);
});

it('status and the saved query since-close show what changed after the close', async () => {
  const { changes, closedMonths, out } = await openChanged();
  expect(await changes()).toMatchObject(CHANGES);
  expect(await closedMonths()).toMatchObject([{ month: '2026-10', days: 4, changes: { spend: 6 } }]);
  expect(await queryRows('SELECT count(*) FROM daily_days WHERE rows IS NOT NULL', out)).toEqual([['31']]);
});

it.each([{ options: [] }, { options: ['--anyway'] }])(
  'close $options leaves the first close of a month as it is',
  async ({ options }) => {
    const { close, changes, command } = await openChanged();
    expect(await close(...options)).toEqual({
      status: 0,
      lines: [
        'acme/daily  2026-10 was closed before. To close it as it is now:',
        command('close 2026-10 daily --account acme --again'),
      ],
    });
    expect(await changes()).toMatchObject(CHANGES);
  },
);

it('close --again refuses a month whose days changed, unless --anyway is given too', async () => {
  const { close, changes } = await openChanged();
  const { status, lines } = await close('--again');
  expect({ status, first: lines[0] }).toMatchObject({
    status: 1,
    first: expect.stringContaining('is not closed: 4 days'),
  });
  expect(await close('--again', '--anyway', 'daily')).toMatchObject({ status: 0 });
  expect(await changes()).toEqual([]);
});

it('close prints the command rebuild for a month of which the ledger lacks a day', async () => {
  const { close, command, ledger } = await openFinal();
  await writeParquet(`${ledger}.new`, `FROM '${ledger}' WHERE date <> '2026-10-09'`);
  await rename(`${ledger}.new`, ledger);
  expect((await close()).lines).toContain(command('rebuild daily --account acme'));
});

it('close prints the command rebuild for a month that the ledger lacks, even with --anyway', async () => {
  const { close, command, ledger } = await openFinal();
  await rm(ledger);
  expect(await close('--anyway')).toEqual({
    status: 1,
    lines: [
      'acme/daily  2026-10 is not closed: no day is in the ledger',
      command('rebuild daily --account acme'),
    ],
  });
});

it('close prints the command missing for a month that the table does not have', async () => {
  const { out } = await openFinal();
  const { stdout } = await runCommand(['close', '2026-09', '--local', '--out', out]);
  expect(stdout).toMatch(
    /^acme\/daily {2}2026-09 is not closed: no day is in the table\n {2}npm .* missing daily .*\n$/,
  );
});

it.each([
  { args: ['2026-13'], message: 'It must be a month, YYYY-MM.' },
  { args: ['2026-10', 'other'], message: 'no run has begun in --out ' },
])('close refuses $args, and makes no folder', async ({ args, message }) => {
  const out = join(temporaryDirectory(), 'mistyped');
  expect(await runCommand(['close', ...args, '--local', '--out', out])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining(message),
  });
  expect(existsSync(out)).toBe(false);
});
