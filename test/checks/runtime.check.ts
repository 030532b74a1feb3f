import { beforeEach, expect, it } from 'vitest';
import type { CreateFunction } from '../../infra/local/run.ts';
import { runExport, shareWorkflow } from '../support/run-export.ts';
import { forgetTokens } from '../support/workflow-secrets.ts';
import { createRuntimeFunction, installRuntimeClient } from './runtime-client.ts';

const client = await installRuntimeClient();

/** How each invocation ended: the step, and `returned` or the error's name. */
const endings: string[] = [];

const createFunction: CreateFunction = (spec, clock, log) => {
  const created = createRuntimeFunction(client, spec, clock, log);
  const end = (how: string) => void endings.push(`${spec.environment.STEP} ${how}`);
  const invoke = async (event: unknown) => {
    try {
      const output = await created.invoke(event);
      end('returned');
      return output;
    } catch (error) {
      end((error as Error).name);
      throw error;
    }
  };
  return { ...created, invoke };
};

// Slower than other whole runs: starting a process takes 0.2 s, which is 40 s of this clock.
const workflow = await shareWorkflow({ speed: 200, createFunction });
const [advertiser_id] = workflow.sandbox.advertiserIds;

const NO_REPORT = { advertiser_ids: undefined, metrics: undefined };
const PURCHASES = { kind: 'purchases', ...NO_REPORT, advertiser_id };
const LIST = {
  kind: 'list',
  ...NO_REPORT,
  start_date: undefined,
  end_date: undefined,
  resource: 'campaigns',
};

beforeEach(() => forgetTokens(workflow));

it("each function's bundle loads in AWS's runtime client and returns", async () => {
  for (const request of [{ kind: 'report' }, PURCHASES, LIST]) {
    expect(await runExport(workflow, { request })).toMatchObject({ status: 'SUCCEEDED' });
  }
  const { failure } = await runExport(workflow, { request: { end_date: 'never' } });
  expect(failure?.error).toBe('InvalidInput');
  const steps = workflow.assembly.functions.map(({ environment }) => `${environment.STEP} returned`);
  expect(endings).toEqual(expect.arrayContaining(steps));
});

it('an error that a Catch names is caught: a token refused while polling is renewed', async () => {
  const { status, callsTo } = await runExport(workflow, { faults: ['report status=401'] });
  expect(status).toBe('SUCCEEDED');
  expect(callsTo('token')).toHaveLength(2);
  expect(endings).toContain('CheckReport TokenRefused');
});
