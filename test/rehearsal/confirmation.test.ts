import { expect, it } from 'vitest';
import { confirmPlan, describePlan } from './confirmation.ts';
import { createNames } from './names.ts';

const plan = describePlan({ account: '123456789012', region: 'eu-west-1' }, createNames('a1b2c3'));

it('before it begins, a rehearsal names the AWS account, the Region and its stacks', () => {
  expect(plan).toContain('AWS account 123456789012, in eu-west-1');
  const stacks = ['rehearsal-a1b2c3', 'rehearsal-a1b2c3-sandbox', 'rehearsal-a1b2c3-sandbox-platform'];
  for (const name of [...stacks, 'rehearsal-a1b2c3-observer']) expect(plan).toContain(`  ${name} `);
});

it('before it begins, a rehearsal says what it costs at most', () => {
  expect(plan).toMatch(/about \$0\.\d\d, and less than \$1\./);
});

it('with --yes, nobody is asked', async () => {
  const printed: string[] = [];
  await confirmPlan(plan, true, (text: string) => printed.push(text));
  expect(printed.join()).toContain(plan);
});

it('without a terminal and without --yes, a rehearsal does not begin', async () => {
  await expect(confirmPlan(plan, false, () => {})).rejects.toThrow('add --yes');
});
