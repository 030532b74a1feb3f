import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { requestOf } from '../../../../../infra/stack/config/exports.ts';
import { readConfig } from '../../../../../infra/stack/config/read-config.ts';
import { runCommand } from '../../../../support/cli.ts';
import { startCommandRun } from '../../../../support/command-run.ts';
import { listen } from '../../../../support/listen.ts';
import { REPORT } from '../../../../support/requests.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { STATE_MACHINE, startCloudFormation } from '../../executions/step-functions.ts';

const RANGE = ['--from', '2026-01-01', '--to', '2026-04-01'];

function plan(args: readonly string[]) {
  return runCommand(['plan', ...args]);
}

/** A deployed bucket without objects, whose tables S3 does not list for the caller. */
async function startUnreadableTables() {
  const service = await listen(({ path }, response) => {
    const isTable = new URL(path, 'http://s3').searchParams.get('prefix')?.startsWith('tables/');
    response.writeHead(isTable ? 403 : 200, { 'content-type': 'application/xml' });
    response.end(
      isTable
        ? '<Error><Code>AccessDenied</Code><Message>no</Message></Error>'
        : '<ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>',
    );
  });
  onTestFinished(() => service[Symbol.asyncDispose]());
  vi.stubEnv('AWS_ENDPOINT_URL_S3', service.url);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  await startCloudFormation(readConfig().stack, { stateMachine: STATE_MACHINE, bucket: 'exports' });
}

describe('plan', () => {
  it('shows windows, reports, time and cost before anything was exported', async () => {
    const place = ['--local', '--out', temporaryDirectory()];
    const { status, stdout } = await plan(['daily-campaigns', ...RANGE, ...place]);
    expect(status).toBe(0);
    expect(stdout).toContain('acme/daily-campaigns: 2026-01-01 to 2026-03-31');
    expect(stdout).toMatch(/^windows +2$/m);
    expect(stdout).toMatch(/^reports to create +2$/m);
    expect(stdout).toMatch(/^expected time +3 min, assuming 180 s/m);
    expect(stdout).toMatch(/^AWS charges about +\$0\.00\d\d /m);
  });

  it.each([
    { args: ['nothing', '--from', '2026-01-01'], fault: 'there is no export nothing in cdk.json' },
    { args: [], fault: 'give the name' },
  ])('refuses $args, and says why', async ({ args, fault }) => {
    expect(await plan(args)).toMatchObject({ status: 2, stderr: expect.stringContaining(fault) });
  });

  it('refuses a file with several accounts', async () => {
    const input = JSON.stringify({ name: 'daily', accounts: [{ account: 'acme' }, { account: 'globex' }] });
    const stderr = 'error: acme and globex have an export daily; leave one of them in the file\n';
    expect(await runCommand(['plan', '--input', '-'], input)).toMatchObject({ status: 2, stderr });
  });

  it('takes a file with a list of one account', async () => {
    const input = JSON.stringify({ ...REPORT, account: undefined, accounts: [{ account: 'acme' }] });
    expect(await runCommand(['plan', '--input', '-'], input)).toMatchObject({ status: 0 });
  });

  it('says with --only-missing that the table cannot be read, as the run does', async () => {
    await startUnreadableTables();
    const { status, stdout } = await plan(['daily-campaigns', ...RANGE, '--only-missing']);
    expect(status).toBe(0);
    expect(stdout).toContain('warning: the table cannot be read, so only manifests tell what is missing: ');
    expect(stdout).toMatch(/^windows +2$/m);
  });

  it('62: refuses another request than the configured one, and names everything that differs', async () => {
    const [entry] = readConfig().exports;
    const { metrics: _, ...configured } = requestOf(entry ?? { name: '', account: '', runs: [] });
    const input = JSON.stringify({
      ...configured,
      metrics: ['spend', 'clicks'],
      options: { currency: 'USD' },
    });
    const { status, stderr } = await runCommand(['plan', '--input', '-'], input);
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr:
        'error: name: account acme has another request under the name daily-campaigns in cdk.json; it differs in ' +
        'metrics (more: clicks; fewer: impressions, number_of_purchases), options. Give this one another name\n',
    });
  });

  it('leaves out what was delivered, and counts the reports of the totals', async () => {
    const { args, out } = await startCommandRun({ start_date: '2026-10-01', end_date: '2026-10-08' });
    expect((await runCommand(args)).status).toBe(0);
    const input = args[args.indexOf('--input') + 1] ?? '';
    const options = ['--input', input, '--local', '--out', out, '--json'];
    const { stdout } = await plan([...options, '--only-missing']);
    expect(JSON.parse(stdout)).toMatchObject({ windows: [], reports: 0, minutes: 0, already_delivered: 1 });
    expect(JSON.parse((await plan(options)).stdout)).toMatchObject({ reports: 1, minutes: 3 });
    const reconciling = { dimensions: ['campaign_id'], reconcile: true };
    writeFileSync(input, JSON.stringify({ ...JSON.parse(readFileSync(input, 'utf8')), ...reconciling }));
    expect(JSON.parse((await plan(options)).stdout).reports).toBe(2);
  });
});
