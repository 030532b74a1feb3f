import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DAY_STATES } from '../../../../functions/days/judge.ts';
import { errors } from '../../../../functions/workflow/errors.ts';
import { manifestKey } from '../../../../functions/workflow/keys.ts';
import { parseRequests } from '../../../../functions/workflow/request/accounts.ts';
import { DICTIONARY, findMetric } from '../../../../functions/workflow/request/dictionary.ts';
import { ListInput } from '../../../../functions/workflow/request/list.ts';
import { PurchasesInput } from '../../../../functions/workflow/request/purchases.ts';
import { ReportInput } from '../../../../functions/workflow/request/report.ts';
import { parseRequest, splitRequest } from '../../../../functions/workflow/request/request.ts';
import type { Window } from '../../../../functions/workflow/state-parts.ts';
import { metricType } from '../../../../functions/workflow/table.ts';
import { CONFIG_KEY, ConfigFile, parseConfig } from '../../../../infra/stack/config/config.ts';
import { costOf, PRICES, SECONDS_PER_REPORT } from '../../../../infra/stack/config/cost.ts';
import { Account, type ConfiguredExport, ExportOfAccounts } from '../../../../infra/stack/config/exports.ts';
import { readContext } from '../../../../infra/stack/config/read-config.ts';
import { Run } from '../../../../infra/stack/config/schedule.ts';
import { costOfAccounts, monthlyCost } from '../../../support/monthly-cost.ts';
import { synthesizeStack } from '../../../support/stack.ts';

const REQUESTS = readFileSync(new URL('../../../../functions/REQUESTS.md', import.meta.url), 'utf8');
const COMMANDS = readFileSync(new URL('../../../../infra/COMMANDS.md', import.meta.url), 'utf8');
const HOWTO = readFileSync(new URL('../../../../infra/HOWTO.md', import.meta.url), 'utf8');
const CONFIG = readFileSync(new URL('../../../../infra/CONFIG.md', import.meta.url), 'utf8');

/**
 * The tables and lists of a section: cells of each row without the head, or what is before and after an
 * item's colon.
 */
function tablesOf(file: string, heading: string): string[][][] {
  const [, text = ''] = file.split(`${heading}\n`);
  const [section = ''] = text.split(/\n##+ /);
  return section
    .trim()
    .split(/\n\n+/)
    .flatMap((block) => {
      const items = block.split(/^- /m).slice(1);
      if (block.startsWith('- ')) return [items.map((item) => item.split(/: /s))];
      const rows = block.split('\n').slice(2);
      return block.startsWith('|') ? [rows.map((row) => row.split('|').slice(1, -1))] : [];
    });
}

function codeIn(cell = ''): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

/** The names in the first column. */
function namesIn(rows: readonly string[][] = []): string[] {
  return rows.flatMap(([cell]) => codeIn(cell));
}

describe('the reference has', () => {
  it('the seconds of a report that plan assumes, also for the accounts of a run', () => {
    expect(COMMANDS).toContain(`(${SECONDS_PER_REPORT} s for a report)`);
    const minutesOf = (accounts: number, atOnce: number) =>
      ((accounts / atOnce - 1) * SECONDS_PER_REPORT) / 60;
    const text = CONFIG.replaceAll('\n', ' ');
    expect(text).toContain(`19 × ${SECONDS_PER_REPORT} s = ${minutesOf(200, 10)} minutes`);
    expect(text).toContain(
      `\`max_accounts: 40\` it is 4 × ${SECONDS_PER_REPORT} s = ${minutesOf(200, 40)} minutes`,
    );
  });

  it.each([
    ['A report', ReportInput],
    ['Purchases', PurchasesInput],
    ['A list', ListInput],
  ])('each field of a request: %s', (heading, { shape }) => {
    const [common = []] = tablesOf(REQUESTS, '\n### Every request').map(namesIn);
    const [fields = []] = tablesOf(REQUESTS, `\n### ${heading}`).map(namesIn);
    expect([...common, ...fields].sort()).toEqual(Object.keys(shape).sort());
  });

  it('an example of each kind of request, without a fault or a warning', () => {
    const [requests = ''] = REQUESTS.split('\n## The objects\n');
    const examples = [...requests.matchAll(/```json\n(.*?)```/gs)].map(([, json = '']) => JSON.parse(json));
    const parsed = examples.flatMap((input) => parseRequests(input, new Date('2026-11-20T06:00:00Z')));
    expect(parsed.map(({ request }) => request.kind)).toEqual([
      'report',
      'purchases',
      'list',
      'report',
      'report',
    ]);
    expect(parsed.flatMap(({ warnings }) => warnings)).toEqual([]);
  });

  it.each([
    ['The stack', ConfigFile.shape],
    ['An account', Account.shape],
    ['An export', ExportOfAccounts.shape],
    ['A run', Run.shape],
  ])('each setting, with a meaning of at most 25 words: %s', (heading, shape) => {
    const [rows = []] = tablesOf(CONFIG, `\n### ${heading}`);
    const names = Object.keys(shape).filter((name) => name !== 'account');
    expect(namesIn(rows).sort()).toEqual(names.sort());
    const long = rows.filter(([, , meaning = '']) => meaning.trim().split(/\s+/).length > 25);
    expect(long.map(([name]) => name)).toEqual([]);
  });

  it('each error', () => {
    const [rows = []] = tablesOf(REQUESTS, '\n## Errors');
    const listed = rows.flatMap(([, names]) => codeIn(names));
    expect(listed.sort()).toEqual(Object.keys(errors).sort());
  });

  it('each state of a day, in the order in which they are judged', () => {
    const [rows = []] = tablesOf(COMMANDS, '\n## What became of a day');
    expect(rows.flatMap(([state]) => codeIn(state))).toEqual([...DAY_STATES]);
  });

  it('what a stack and its exports cost', () => {
    const billed = (changes: object) => monthlyCost(synthesizeStack({ ...changes }));
    const idle = billed({ exports: [] });
    const account = idle.total - billed({ exports: [], accounts: { acme: {} } }).total;
    const { stack: _, ...shipped } = Object(readContext()[CONFIG_KEY]);
    const cents = (dollars: number) => dollars.toFixed(2);
    const run = (windows: number) => costOf('report', windows, SECONDS_PER_REPORT).dollars;
    const scheduled = run(1) + costOfAccounts(1).dollars;
    const secrets = `two secrets. A credential that is kept costs ${cents(PRICES.secret)}`;
    const [rows = []] = tablesOf(CONFIG, '\n## Costs');
    expect(rows.slice(0, 9).map((cells) => cells.map((cell) => cell.trim()))).toEqual([
      ['the stack, a month', cents(idle.total - 2 * account), `${idle.alarms} alarms`],
      ['each account, a month', cents(account), secrets],
      ['the shipped `cdk.json`, a month', cents(billed(shipped).total), expect.anything()],
      ['a report of one window, READY after three minutes', run(1).toFixed(4), expect.anything()],
      ['a daily report of one account, a month', cents(30 * scheduled), expect.anything()],
      ['an hourly report of one account, a month', cents(30 * 24 * scheduled), expect.anything()],
      ['two years in 17 windows', cents(run(17)), ''],
      [
        '`kms_key: "create"`, a month',
        cents(billed({ exports: [], kms_key: 'create' }).total - idle.total),
        expect.anything(),
      ],
      // 66 MB are 280,000 rows of 236 bytes.
      [
        'reports, a GB and month',
        `${PRICES.storedGigabyte}`,
        expect.stringContaining(`66 MB a day: ${cents(0.066 * 365 * PRICES.storedGigabyte)} a month`),
      ],
    ]);
  });

  it('what 20 accounts cost, with the storage of their reports', () => {
    const accounts = Array.from({ length: 20 }, (_, number) => [
      `account-${number}`,
      { advertiser_ids: 'all' },
    ]);
    const runs = [{ period: 'last_28_days', schedule: 'cron(0 6 * * ? *)', ready_by: '09:00' }];
    const exports = [{ name: 'daily', metrics: ['spend'], runs }];
    const { total } = monthlyCost(synthesizeStack({ accounts: Object.fromEntries(accounts), exports }));
    const daily = 20 * costOf('report', 1, SECONDS_PER_REPORT).dollars + costOfAccounts(20).dollars;
    const storage = (days: number) => 20 * 0.066 * days * PRICES.storedGigabyte;
    const [rows = []] = tablesOf(HOWTO, '\n## What 20 accounts cost');
    const dollars = [total, 30 * daily, storage(365), storage(90 + 7)].map((sum) => sum.toFixed(2));
    expect(rows.map(([, sum = '']) => sum.trim())).toEqual(dollars);
  });

  it('the request with which Airflow starts the shipped export', () => {
    const [, python = ''] = /state_machine_input=(\{.*?\n {4}\}),/s.exec(HOWTO) ?? [];
    const { scheduled_at, ...request } = JSON.parse(python.replace(/,(\s*\})$/, '$1'));
    const configured = parseConfig(readContext()[CONFIG_KEY]).exports.find(
      ({ name }) => name === request.name,
    );
    expect(scheduled_at).toContain('data_interval_end');
    expect(request).toEqual(configured?.runs[0]?.request);
  });

  it('the key for which Airflow waits after a run of the shipped export', () => {
    const [, pattern = ''] = /bucket_key="([^"]+)"/.exec(HOWTO) ?? [];
    const [{ runs }] = parseConfig(readContext()[CONFIG_KEY]).exports as [ConfiguredExport];
    const { request } = parseRequest(runs[0]?.request, new Date('2026-11-21T05:00:00Z'));
    const [window] = splitRequest(request);
    const awaited = pattern
      .replace('{{ data_interval_end | ds }}', '2026-11-21')
      .replace('{{ macros.ds_add(data_interval_end | ds, -28) }}', '2026-10-24');
    expect(awaited).toBe(manifestKey(request, window as Window));
  });

  it('metrics of the dictionary with their units and types, and all dimensions', () => {
    const [rows = []] = tablesOf(REQUESTS, '\n## The dictionary');
    for (const [unit, names, type, sum] of rows)
      for (const name of codeIn(names)) {
        const { unit: itsUnit, adds_up } = findMetric(name) ?? {};
        expect({ name, unit: [itsUnit], type: [metricType(name)], adds_up }).toEqual({
          name,
          unit: codeIn(unit),
          type: codeIn(type),
          adds_up: sum?.includes('yes'),
        });
      }
    const documented = rows.flatMap(([, names]) => codeIn(names));
    const missing = DICTIONARY.metrics
      .filter(({ name }) => !documented.includes(name))
      .map(({ name }) => name);
    // They have the form of others.
    expect(missing).toEqual(['number_of_purchases', 'purchase_value']);
    for (const { name } of DICTIONARY.dimensions) expect(REQUESTS).toContain(`\`${name}\``);
  });
});
