import { expect, it } from 'vitest';
import { withDaily } from '../../../../../infra/operate/cli/run/run-local.ts';

it.each([
  {
    form: 'two words',
    args: ['run', 'daily', '--local', '--daily', '30', '--out', 'a'],
    again: ['run', 'daily', '--local', '--daily', '12', '--out', 'a'],
  },
  { form: 'one word', args: ['run', '--daily=30', '--local'], again: ['run', '--daily=12', '--local'] },
  { form: 'no --daily', args: ['run', 'daily', '--local'], again: ['run', 'daily', '--local'] },
])('a command of $form is printed again for the days that are left', ({ args, again }) => {
  expect(withDaily(args, 12)).toEqual(again);
});
