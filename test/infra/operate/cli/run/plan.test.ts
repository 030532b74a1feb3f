import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../../../support/cli.ts';
import { startCommandRun } from '../../../../support/command-run.ts';
import { REPORT } from '../../../../support/requests.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const RANGE = ['--from', '2026-01-01', '--to', '2026-04-01'];

function plan(args: readonly string[]) {
  return runCommand(['plan', ...args]);
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

  it('names every fault of the request and of the options', async () => {
    const { status, stderr } = await plan(['nothing', '--from', '2026-01-01']);
    expect(status).toBe(2);
    expect(stderr).toContain('there is no export nothing in cdk.json');
    expect(await plan([])).toMatchObject({ status: 2, stderr: expect.stringContaining('give the name') });
    const input = JSON.stringify({ name: 'daily', accounts: [{ account: 'acme' }, { account: 'globex' }] });
    const fault = 'error: acme and globex have an export daily; leave one of them in the file\n';
    expect(await runCommand(['plan', '--input', '-'], input)).toMatchObject({ status: 2, stderr: fault });
    const one = JSON.stringify({ ...REPORT, account: undefined, accounts: [{ account: 'acme' }] });
    expect(await runCommand(['plan', '--input', '-'], one)).toMatchObject({ status: 0 });
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
