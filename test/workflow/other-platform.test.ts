import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Manifest } from '../../functions/days/manifest.ts';
import { type Checkout, CONFIG, createCheckout } from '../support/checkout.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { CLIENT, type OtherPlatform, PROFILE, startOtherPlatform } from './other-platform/server.ts';

/** Of this platform, whose ids are no UUIDs. */
const config = {
  ...CONFIG,
  accounts: { acme: { advertiser_ids: [PROFILE] } },
  exports: [{ name: 'daily', metrics: ['cost'], runs: [{ period: 'yesterday' }] }],
};

const REQUEST = {
  name: 'campaigns',
  account: 'acme',
  start_date: '2026-03-02',
  end_date: '2026-03-05',
  advertiser_ids: [PROFILE],
  metrics: ['cost', 'clicks'],
  dimensions: ['campaignId'],
  options: { adProduct: 'SPONSORED_PRODUCTS', reportTypeId: 'spCampaigns', groupBy: ['campaign'] },
};

describe('a platform with other words, whose contract replaces one file', () => {
  let checkout: Checkout;
  let platform: OtherPlatform;
  let out: string;

  beforeAll(async () => {
    const contract = new URL('./other-platform/contract.ts', import.meta.url);
    let remove = () => {};
    const onEnd = (end: () => void) => {
      remove = end;
    };
    checkout = await createCheckout(onEnd, { 'functions/contract.ts': contract });
    return () => remove();
  });

  beforeEach(async () => {
    out = temporaryDirectory();
    platform = await startOtherPlatform();
    return () => platform[Symbol.asyncDispose]();
  });

  async function file(name: string, content: object): Promise<string> {
    await writeFile(join(out, name), JSON.stringify(content), { mode: 0o600 });
    return join(out, name);
  }

  /** Runs a command on this platform, and ends with what it prints. */
  async function command(name: string, more: Readonly<Record<string, string>>) {
    const options = {
      '--base-url': platform.baseUrl,
      '--revision': '2026-01-01',
      '--credential': await file('credential.json', CLIENT),
      ...more,
    };
    const end = await checkout.run(config, [name, '--local', '--json', ...Object.entries(options).flat()]);
    return { ...end, result: end.stdout === '' ? undefined : JSON.parse(end.stdout) };
  }

  /** Exports a request. */
  async function run(fields: object = {}) {
    const input = await file('request.json', { ...REQUEST, ...fields });
    return command('run', { '--input': input, '--speed': '200', '--out': out });
  }

  async function manifests(): Promise<Manifest[]> {
    const paths = await readdir(out, { recursive: true });
    const keys = paths.filter((path) => path.endsWith('_manifest.json')).sort();
    return Promise.all(keys.map(async (path) => JSON.parse(await readFile(join(out, path), 'utf8'))));
  }

  /** The bodies of the calls that created reports, or tried to. */
  function created() {
    const calls = platform.received.filter(
      ({ method, host }) => method === 'POST' && !/^localhost/.test(host),
    );
    return calls.map(({ body }) => JSON.parse(body));
  }

  it('delivers windows of at most its 31 days, each with an inclusive end, into one table', async () => {
    expect(await run({ end_date: '2026-05-04' })).toMatchObject({ status: 0, stderr: expect.anything() });
    const ranges = created().map(({ startDate, endDate }) => `${startDate} to ${endDate}`);
    expect(ranges.sort()).toEqual([
      '2026-03-02 to 2026-04-01',
      '2026-04-02 to 2026-05-02',
      '2026-05-03 to 2026-05-03',
    ]);
    expect(created()[0].configuration).toEqual({
      ...REQUEST.options,
      columns: ['date', 'campaignId', 'cost', 'clicks'],
      timeUnit: 'DAILY',
      format: 'GZIP_JSON',
    });
    const delivered = await manifests();
    expect(delivered.map(({ rows, table }) => ({ rows, days: table?.days }))).toEqual([
      { rows: 31, days: 31 },
      { rows: 31, days: 31 },
      { rows: 1, days: 1 },
    ]);
    expect(platform.received.filter(({ host }) => host.startsWith('localhost'))).toHaveLength(1);
  });

  it('replaces a failed report, takes a named duplicate, renews a token and resumes a download', async () => {
    platform.plan({ fails: 'INTERNAL_ERROR' }, { losesAnswer: true, endsTokens: true, breaksDownload: true });
    expect(await run()).toMatchObject({ status: 0, stderr: expect.anything() });
    expect(created()).toHaveLength(3);
    expect(await manifests()).toMatchObject([
      { report_id: 'rep.2', abandoned_report_ids: ['rep.1'], rows: 3, table: { days: 3 } },
    ]);
    const tokens = platform.received.filter(({ host }) => host.startsWith('localhost'));
    expect(tokens).toHaveLength(2);
    expect(platform.downloadsOf('rep.2')).toBe(2);
  });

  it('fails after three failed reports, and says why they failed', async () => {
    const reason = 'The report is too large.';
    platform.plan({ fails: reason }, { fails: reason }, { fails: reason });
    const { status, result } = await run();
    expect(status).toBe(1);
    expect(result).toMatchObject({ error: 'ReportStuck', report_ids: ['rep.1', 'rep.2', 'rep.3'] });
    expect(result.happened).toContain(`report rep.1 is FAILED: ${reason}`);
  });

  it('replaces a report that fails once it was ready, and keeps no secret of its reason', async () => {
    const signed = 'storage.example/1.gz?X-Amz-Signature=leaked';
    const urls = [signed, `https:\\/\\/${signed}`, encodeURIComponent(`https://${signed}`)];
    const failure = { failsWhenReady: { said: 'The token Atza|"1" has ended.', urls } };
    platform.plan(failure, failure, failure);
    const { status, stdout, stderr, result } = await run();
    expect(status).toBe(1);
    expect(result).toMatchObject({ error: 'ReportStuck', report_ids: ['rep.1', 'rep.2', 'rep.3'] });
    expect(result.happened).toContain('report rep.1 is FAILED: {"said":"The token [redacted] has ended."');
    expect(stdout + stderr).not.toMatch(/leaked|Atza/);
  });

  it('checks a login without creating a report', async () => {
    const { status, result } = await command('doctor', { '--account': 'acme' });
    const checks = ['secret', 'token', 'revision'].map((check) => ({ check, status: 'ok' }));
    expect(result.checks.filter(({ check }: { check: string }) => check !== 'scopes')).toMatchObject(checks);
    expect(status).toBe(0);
    expect(created()).toEqual([]);
  });

  it('blames no revision for a 400, because the platform has none', async () => {
    platform.unknownId = 400;
    const { status, result } = await command('doctor', { '--account': 'acme' });
    expect(result.checks).toContainEqual(expect.objectContaining({ check: 'revision', status: 'unknown' }));
    expect(status).toBe(0);
  });

  it.each([
    ['two advertisers', { advertiser_ids: [PROFILE, '2718281828459'] }, 'must not have more than 1'],
    ['an id of another form', { advertiser_ids: ['acme'] }, 'must be a profile id'],
    ['all advertisers', { advertiser_ids: 'all' }, 'must be a list of profile ids'],
    ['a list', { kind: 'list', resource: 'campaigns' }, 'kind: must be "report"'],
    ['purchases', { kind: 'purchases' }, 'kind: must be "report"'],
  ])('refuses %s before any call', async (_, fields, fault) => {
    const { status, stdout, stderr } = await run(fields);
    expect(status).toBe(2);
    expect(stdout + stderr).toContain(fault);
    expect(platform.received).toEqual([]);
  });
});
