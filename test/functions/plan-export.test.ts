import { describe, expect, it } from 'vitest';
import { planExport } from '../../functions/plan-export.ts';
import { splitIntoWindows } from '../../functions/workflow/request/dates.ts';
import { keepLog, windowOf } from '../support/steps.ts';

type Reports = Readonly<Record<string, { crc32?: string; version_id?: string }>>;

/** Where what a manifest is about was made. */
const MADE = { platform: 'api.platform.example/v1', revision: '2026-09-01' };

/** A bucket with these objects, and what was asked of it. */
function keepObjects(objects: Readonly<Record<string, string>> = {}, reports: Reports = {}) {
  const asked: string[] = [];
  const getText = async (key: string) => {
    asked.push(key);
    return objects[key];
  };
  const head = async (key: string) => reports[key];
  return { asked, former: { store: { getText, head }, ...MADE } };
}

const { former } = keepObjects();
const { request } = windowOf(['7d2f8a54-5f0e-4a3c-9f5e-0f4b8a1c2d3e']);
const input = { request, execution: 'e', started_at: '2026-11-21T06:00:00.000Z' };

describe('PlanExport', () => {
  it('gives the request and its windows', async () => {
    const { log } = keepLog();
    const long = { ...request, start_date: '2026-01-01', end_date: '2026-03-01' };
    const plan = await planExport({ ...input, request: long }, { accounts: ['acme'], log, ...former });
    expect(plan).toEqual({
      execution: 'e',
      started_at: input.started_at,
      request: long,
      warnings: [],
      windows: [
        { start_date: '2026-01-01', end_date: '2026-02-15' },
        { start_date: '2026-02-15', end_date: '2026-03-01' },
      ],
    });
  });

  it('counts a period from the moment at which the execution started', async () => {
    const { log } = keepLog();
    const { start_date, end_date, ...rest } = request;
    const plan = await planExport(
      { ...input, request: { ...rest, period: 'yesterday' } },
      { accounts: ['acme'], log, ...former },
    );
    expect(plan.windows).toEqual([{ start_date: '2026-11-20', end_date: '2026-11-21' }]);
  });

  it('38: logs its warnings and passes them on', async () => {
    const { log, lines } = keepLog();
    const plan = await planExport(
      { ...input, request: { ...request, metrics: ['roas'] } },
      { accounts: ['acme'], log, ...former },
    );
    expect(plan.warnings).toEqual([expect.stringContaining('roas')]);
    expect(lines).toMatchObject([{ level: 'warn', message: plan.warnings[0] }]);
  });

  it.each([
    ['2026-11-22', 'UTC', 'report', 1],
    ['2026-11-21', 'UTC', 'report', 0],
    ['2026-11-22', 'Pacific/Kiritimati', 'report', 1],
    ['2026-11-21', 'Pacific/Honolulu', 'report', 1],
    ['2026-11-22', 'UTC', 'purchases', 1],
  ])('warns of days that are not over yet: to %s in %s, of a %s', async (end_date, time_zone, kind, warnings) => {
    const { advertiser_ids, metrics, granularity, format, max_parallel, ...purchases } = request;
    const asked = kind === 'report' ? request : { ...purchases, kind, advertiser_id: advertiser_ids[0] };
    const plan = await planExport(
      { ...input, request: { ...asked, end_date, time_zone } },
      { accounts: ['acme'], log: keepLog().log, ...former },
    );
    expect(plan.warnings).toHaveLength(warnings);
    for (const warning of plan.warnings) expect(warning).toContain(`${end_date} is still to come`);
  });

  it('refuses an account that this deployment does not have, and names those it has', async () => {
    const { log } = keepLog();
    await expect(
      planExport(input, { accounts: ['umbrella', 'initech'], log, ...former }),
    ).rejects.toMatchObject({
      name: 'InvalidInput',
      facts: { faults: ["account: acme is not one of this deployment's (umbrella, initech)"] },
    });
  });
});

describe('PlanExport of only what is missing', () => {
  const PREFIX = 'exports/account=acme/export=daily';
  const long = { ...request, start_date: '2026-01-01', end_date: '2026-04-10', only_missing: true };
  const windows = splitIntoWindows(long);
  const keyOf = (at: number) =>
    `${PREFIX}/start_date=${windows[at]?.start_date}/end_date=${windows[at]?.end_date}/_manifest.json`;
  const { granularity, format, metrics, advertiser_ids } = request;
  const asked = { advertiser_ids, metrics, granularity, format };
  const manifest = (at: number, fields = {}) =>
    JSON.stringify({
      kind: 'report',
      request: { ...asked, ...windows[at] },
      ...MADE,
      key: 'report.json',
      checksum: { value: 'AA' },
      ...fields,
    });

  async function plan(
    objects: Readonly<Record<string, string>>,
    fields = {},
    reports: Reports = { 'report.json': { crc32: 'AA' } },
  ) {
    const { log } = keepLog();
    const bucket = keepObjects(objects, reports);
    const planned = await planExport(
      { ...input, request: { ...long, ...fields } },
      { accounts: ['acme'], log, ...bucket.former },
    );
    return { ...planned, asked: bucket.asked };
  }

  it('leaves out the windows with a manifest of the same request, and counts them', async () => {
    const { already_delivered, warnings, ...planned } = await plan({ [keyOf(1)]: manifest(1) });
    expect(planned.windows).toEqual([windows[0], windows[2]]);
    expect({ already_delivered, warnings }).toEqual({ already_delivered: 1, warnings: [] });
    expect(planned.request).toEqual({ ...request, start_date: '2026-01-01', end_date: '2026-04-10' });
  });

  it.each([
    ['of another request', manifest(1, { request: { ...asked, ...windows[1], metrics: ['impressions'] } })],
    ['of another revision', manifest(1, { revision: '2026-01-01' })],
    ['of another kind', manifest(1, { kind: 'purchases' })],
    ['that cannot be read', '{'],
    ['that is no object', 'null'],
  ])('takes a manifest %s for none, and says so', async (_, text) => {
    const planned = await plan({ [keyOf(1)]: text });
    expect(planned.windows).toEqual(windows);
    expect(planned.warnings).toEqual([
      expect.stringMatching(/another request.*exported again: 2026-02-15 to 2026-04-01$/),
    ]);
  });

  it.each<[string, number, object, Reports]>([
    ['is gone', 0, {}, {}],
    ['is gone, of which it names the version', 0, { version_id: 'v1' }, {}],
    ['is of another checksum', 0, {}, { 'report.json': { crc32: 'BB' } }],
    ['has no checksum', 0, { checksum: undefined }, { 'report.json': {} }],
    ['is another version', 0, { version_id: 'v1' }, { 'report.json': { crc32: 'AA', version_id: 'v2' } }],
    ['is the very version', 1, { version_id: 'v1' }, { 'report.json': { crc32: 'AA', version_id: 'v1' } }],
    ['it does not name', 0, { key: undefined }, { 'report.json': { crc32: 'AA' } }],
  ])('looks at the object of a manifest, which %s: %i delivered', async (_, delivered, fields, reports) => {
    const planned = await plan({ [keyOf(0)]: manifest(0, fields) }, {}, reports);
    expect(planned).toMatchObject({ already_delivered: delivered, warnings: [] });
  });

  it.each([
    ['in it', { window: windows[0] }, 0],
    ['in an export of this one window', { windows_failed: 1 }, 0],
    ['only when it was announced', { error: 'EventBridge.FailedEntry' }, 1],
  ])('counts a window with a manifest that has failed since: %s', async (_, card, delivered) => {
    const failure = keyOf(0).replace('_manifest', '_failure');
    const planned = await plan({ [keyOf(0)]: manifest(0), [failure]: JSON.stringify(card) });
    expect(planned).toMatchObject({ already_delivered: delivered, warnings: [] });
  });

  it.each([
    ['2026-11-21T06:00:00.000Z', 1],
    ['2026-11-21T05:59:59.999Z', 0],
  ])('since an instant counts a manifest of %s as %i delivered', async (published_at, delivered) => {
    const only_missing = '2026-11-21T06:00:00.000Z';
    const planned = await plan({ [keyOf(0)]: manifest(0, { published_at }) }, { only_missing });
    expect(planned).toMatchObject({ already_delivered: delivered, warnings: [] });
  });

  it('does not mind what says nothing of the data', async () => {
    const planned = await plan({ [keyOf(0)]: manifest(0) }, { max_parallel: 9, revision: '2026-09-01' });
    expect(planned.already_delivered).toBe(1);
  });

  it('looks at nothing unless it is asked to', async () => {
    const planned = await plan({ [keyOf(0)]: manifest(0) }, { only_missing: false });
    expect(planned.windows).toEqual(windows);
    expect(planned.asked).toEqual([]);
    expect(planned).not.toHaveProperty('already_delivered');
  });

  it('counts a period from the moment at which it was scheduled', async () => {
    const { start_date, end_date, ...rest } = long;
    const planned = await plan(
      {},
      { ...rest, start_date: undefined, end_date: undefined, period: 'yesterday' },
    );
    expect(planned.windows).toEqual([{ start_date: '2026-11-20', end_date: '2026-11-21' }]);
  });
});
