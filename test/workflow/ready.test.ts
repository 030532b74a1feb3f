import { expect, it } from 'vitest';
import { BETWEEN_CHECKS } from '../../functions/check-ready.ts';
import { addDays, dateIn } from '../../functions/workflow/request/dates.ts';
import { createStateMachine } from '../../infra/lab/local/step-functions/step-functions.ts';
import { startFastWorkflow } from '../support/run-export.ts';
import { definitionOf, synthesizeStack } from '../support/stack.ts';

const RUN = { period: 'yesterday', schedule: 'cron(* * * * ? *)', ready_by: '09:00' };
const stack = synthesizeStack({ exports: [{ name: 'daily', metrics: ['spend'], runs: [RUN] }] });

it('a run that is late is announced once, and again when it is there', async () => {
  await using workflow = await startFastWorkflow();
  const { start_date: _, end_date: __, ...what } = workflow.request({ name: 'daily' });
  const request = { ...what, period: RUN.period };
  const checkedAt = new Date(workflow.clock.now());
  const today = dateIn('UTC', checkedAt);
  // The workflow's clock may pass midnight: then yesterday is another day.
  const yesterday = { start_date: addDays(today, -1), end_date: today };
  const sent: { readonly type: string; readonly at: number; readonly accounts: unknown }[] = [];
  const messages: string[] = [];
  await using checks = createStateMachine({
    ...workflow.assembly.stateMachine,
    definition: definitionOf(stack, 'ReadyChecks'),
    interpreter: workflow.assembly.interpreter,
    clock: workflow.clock,
    async runTask(resource, input) {
      if (resource.includes('CheckReady')) return workflow.functionOf('CheckReady').invoke(input);
      const { Entries, Message } = Object(input);
      if (Entries) {
        const [{ DetailType, Detail }] = Entries;
        sent.push({ type: DetailType, at: workflow.clock.now(), accounts: Detail.accounts });
        // Somebody exports it once it is known to be late.
        if (DetailType === 'Report Late') await workflow.run({ ...what, ...yesterday });
      }
      if (Message) messages.push(JSON.parse(Message).default);
      return {};
    },
  });
  const { status } = await checks.start('check', {
    export: 'daily',
    ready_by: RUN.ready_by,
    time_zone: 'UTC',
    tell: false,
    expression: RUN.schedule,
    checked_at: checkedAt.toISOString(),
    requests: [request],
  }).result;

  expect(status).toBe('SUCCEEDED');
  expect(sent.map(({ type }) => type)).toEqual(['Report Late', 'Report Ready']);
  const [late, ready] = sent;
  expect(late?.accounts).toMatchObject([{ account: 'sandbox', missing: [{}] }]);
  expect(ready?.accounts).toEqual([{ account: 'sandbox' }]);
  expect(Number(ready?.at) - Number(late?.at)).toBeGreaterThanOrEqual(1000 * BETWEEN_CHECKS);
  expect(messages.map((message) => message.slice(0, message.indexOf(',')))).toEqual([
    expect.stringMatching(/^daily of [-\d]+ is late: 1 of 1 account$/),
    expect.stringMatching(/^daily of [-\d]+ is there: 1 account$/),
  ]);
});
