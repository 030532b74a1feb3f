import { describe, expect, it } from 'vitest';
import { billOf, EXPECTED } from './bill.ts';
import { createReport, redact, renderResult } from './report.ts';

const names = { account: '210987654321', stack: 'rehearsal-a1b2c3' };

describe('the result', () => {
  const contents = {
    steps: [{ name: 'deletion', seconds: 12.4, shown: 'the bucket remains' }],
    leftOut: [['an update', 'git has no such commit']],
    bill: billOf({ ...EXPECTED, transitions: 4_000 }),
    seconds: 600,
    command: 'npm run rehearse -- --aws',
    proved: [['what stays', 'deletion']],
    notShown: [['quotas', 'it would take days']],
    versions: { region: 'eu-west-1' },
  } satisfies Parameters<typeof renderResult>[0];

  it('has a row for each step, for each line of the bill, and for what was not shown', () => {
    const text = renderResult(contents);
    expect(text).toContain('| deletion | 12 | the bucket remains |');
    expect(text).toContain('| state transitions | 4000 | 10.00 |');
    expect(text).toContain('| an update | git has no such commit |\n| quotas | it would take days |');
    expect(text).toContain('`npm run rehearse -- --aws` wrote this file');
  });

  it('says what no emulator shows, and by which step', () => {
    expect(renderResult(contents)).toContain('| what stays | deletion |');
  });

  it('is not written if the step that should show something was left out', () => {
    const proved = [['alarms', 'an alarm']] as const;
    expect(() => renderResult({ ...contents, proved })).toThrow('No step has shown alarms');
  });

  it('names neither the AWS account nor the stacks that were in it', () => {
    const arn = `arn:aws:iam::${names.account}:role/${names.stack}-observer-operator`;
    expect(redact(`as ${arn}, in ${names.account}`, names)).toBe(
      'as arn:aws:iam::ACCOUNT:role/STACK-observer-operator, in ACCOUNT',
    );
  });

  it('is not written if it may name another AWS account', () => {
    expect(() => redact('arn:aws:iam::111122223333:role/x', names)).toThrow('12 digits');
  });

  it('may have the number of bytes of a large file', () => {
    expect(redact('24000002 bytes', names)).toBe('24000002 bytes');
  });
});

describe('a step', () => {
  it('fails if IAM refused a call meanwhile, also if its work succeeded', async () => {
    const refusals: string[] = [];
    const report = createReport(
      () => refusals,
      () => {},
    );
    const work = async () => {
      refusals.push('REFUSED s3:GetObject');
      return 'done';
    };
    await expect(report.step('run', work)).rejects.toThrow('REFUSED s3:GetObject');
    expect(report.contents().steps).toEqual([]);
  });

  it('has a row with what it has shown', async () => {
    const report = createReport(
      () => [],
      () => {},
    );
    await report.step('run', async () => 'delivered');
    expect(report.contents().steps).toMatchObject([{ name: 'run', shown: 'delivered' }]);
  });
});
