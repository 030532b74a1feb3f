import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCommand } from '../../../../support/cli.ts';
import { writeParquet } from '../../../../support/ledger-rows.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { BUCKET, deliver, openFolder, queryRows, rebuild } from '../../days/deliveries.ts';

const DAY = 24;

it('close keeps what a final month shows, and later says what changed since', async () => {
  const folder = await openFolder();
  const place = ['--local', '--out', folder.out];
  const run = async (days: readonly [number, number], created: number, spend: number) => {
    await deliver(folder, { days, created, spend });
    await rebuild(['daily', ...place]);
  };
  const close = async (...options: readonly string[]) => {
    const { status, stdout } = await runCommand(['close', '2026-10', ...options, ...place]);
    return { status, lines: stdout.trimEnd().split('\n') };
  };
  const whatChanged = ['query', '--saved', 'since-close', ...place];
  const closed = async () =>
    JSON.parse((await runCommand(['status', '--json', ...place])).stdout).exports[0].closed;
  const sinceClose = async () => {
    const { stdout } = await runCommand([...whatChanged, '--json']);
    return JSON.parse(stdout).rows.map((row: Record<string, string>) => [row.date, row.metric, row.change]);
  };

  await run([2, 31], 1, 5);
  expect(await close()).toEqual({
    status: 1,
    lines: [
      'acme/daily  2026-10 is not closed: 30 days unverified, 1 day lacking',
      'To read the unverified days again, from 2026-11-07 on:',
      `  npm run export -- run daily --account acme --from 2026-10-02 --to 2026-11-01 ${place.join(' ')}`,
      'To see the days that lack something:',
      `  npm run export -- missing daily --account acme --from 2026-10-01 --to 2026-11-01 ${place.join(' ')}`,
      'To close it all the same:',
      `  npm run export -- close 2026-10 daily --account acme --anyway ${place.join(' ')}`,
    ],
  });
  expect(await closed()).toEqual([]);

  await run([1, 31], 10 * DAY, 5);
  await run([1, 1], 20 * DAY, 5);
  expect(await close()).toEqual({
    status: 0,
    lines: [
      'acme/daily  2026-10 is closed. To see later what changed:',
      `  npm run export -- ${whatChanged.join(' ')}`,
    ],
  });
  expect(await closed()).toMatchObject([{ month: '2026-10', days: 0, changes: {} }]);

  await run([3, 6], 21 * DAY, 6.5);
  const changed = ['03', '04', '05', '06'].map((day) => [`2026-10-${day}`, 'spend', '1.5000000000']);
  expect(await sinceClose()).toEqual(changed);
  expect(await closed()).toMatchObject([{ month: '2026-10', days: 4, changes: { spend: 6 } }]);
  expect(await queryRows('SELECT count(*) FROM daily_days WHERE rows IS NOT NULL', folder.out)).toEqual([
    ['31'],
  ]);

  // The first close stays, unless a person says otherwise.
  for (const options of [[], ['--anyway']])
    expect(await close(...options)).toMatchObject({
      status: 0,
      lines: [
        'acme/daily  2026-10 was closed before. To close it as it is now:',
        `  npm run export -- close 2026-10 daily --account acme --again ${place.join(' ')}`,
      ],
    });
  expect(await sinceClose()).toEqual(changed);
  expect((await close('--again')).lines[0]).toContain('is not closed: 4 days');
  await close('--again', '--anyway', 'daily');
  expect(await sinceClose()).toEqual([]);

  const ledger = join(folder.out, BUCKET, 'tables/ledger/acme.daily.2026-10.parquet');
  await writeParquet(`${ledger}.new`, `FROM '${ledger}' WHERE date <> '2026-10-09'`);
  await rename(`${ledger}.new`, ledger);
  expect((await close('--again')).lines).toContain(
    `  npm run export -- rebuild daily --account acme ${place.join(' ')}`,
  );
  await rm(ledger);
  const { stdout } = await runCommand(['close', '2026-09', ...place]);
  expect(stdout).toMatch(
    /^acme\/daily {2}2026-09 is not closed: no day is in the table\n {2}npm .* missing daily .*\n$/,
  );
  const { lines } = await close('--again', '--anyway');
  expect(lines.join()).toMatch(/: no day is in the ledger, .* rebuild daily --account acme --local /);
});

it.each([
  [['2026-13'], 'It must be a month, YYYY-MM.'],
  [['2026-10', 'other'], 'no run has begun in --out '],
])('refuses %j, and makes no folder', async (args, message) => {
  const out = join(temporaryDirectory(), 'mistyped');
  expect(await runCommand(['close', ...args, '--local', '--out', out])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining(message),
  });
  expect(existsSync(out)).toBe(false);
});
