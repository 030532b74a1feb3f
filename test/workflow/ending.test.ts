import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectNoSecretWritten } from '../support/secrecy.ts';
import { follow, startWorkflow, type Workflow } from '../support/workflow.ts';

let workflow: Workflow;
beforeAll(async () => {
  workflow = await startWorkflow({ sandbox: { faults: ['create status=422 times=always'] } });
});
afterAll(() => workflow.close());

/** Ended as a failed export ends, with the card that was announced. */
function expectCard({ status, error, cause }: Awaited<ReturnType<Workflow['run']>>): void {
  expect([status, error]).toEqual(['FAILED', 'RequestRefused']);
  expect(JSON.parse(cause ?? '')).toEqual(workflow.bus.events.at(-1)?.detail);
}

describe('a failed export ends with its card', () => {
  afterEach(() => expectNoSecretWritten(workflow));

  it.each([
    ['Step Functions does not take', 'InternalServerError', 2],
    ['never arrives', 'reset', 2],
    ['is taken, though nobody hears of it', 'lost answer', 1],
  ] as const)('where FailExport gives one that %s', async (_, fault, calls) => {
    const before = workflow.answers.journal.length;
    workflow.answers.faults.push(fault);
    expectCard(await workflow.run());
    const made = workflow.answers.journal.slice(before).map(({ error }) => error);
    expect(made).toEqual([fault, undefined].slice(0, calls));
  });

  it('where FailExport is killed while it gives it', async () => {
    const before = workflow.answers.journal.length;
    workflow.answers.faults.push('hang');
    const execution = workflow.export(workflow.request());
    await expect.poll(() => workflow.answers.journal.length, { timeout: 60_000 }).toBe(before + 1);
    expect(await workflow.functionOf('FailExport').kill()).toBe(1);
    const ended = await follow(execution);
    expectCard(ended);
    const retried = ended.events.filter(
      ({ type, state }) => type === 'StateRetried' && state === 'FailExport',
    );
    expect(retried).toHaveLength(1);
  });
});
