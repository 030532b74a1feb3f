import { describe, expect, it } from 'vitest';
import { type Assembly, loadAssembly, prepareAssembly } from '../../../infra/local/assembly.ts';
import { type Outcome, runExport, startFastWorkflow } from '../../support/run-export.ts';

/** The stack as a window sees it that was stopped in this state and redriven. The interpreter itself knows no redrive. */
async function redrivenIn(state: string): Promise<Assembly> {
  const assembly = loadAssembly(await prepareAssembly());
  return JSON.parse(JSON.stringify(assembly), (name, value) => {
    if (name !== state) return value;
    const { 'redrive_count.$': _, ...parameters } = value.Parameters;
    return { ...value, Parameters: { ...parameters, redrive_count: 1 } };
  });
}

/** The states that poll, copy or wait for the report, in the order in which the window entered them. */
function statesOf({ events }: Outcome): string[] {
  const entered = events.filter(({ type }) => type === 'StateEntered').map(({ state = '' }) => state);
  return entered.filter((state) => ['WaitForReport', 'CheckReport', 'SaveReport'].includes(state));
}

describe('P3, 30: a window that is redriven in', () => {
  it.each([
    ['CheckReport', ['CheckReport', 'WaitForReport', 'CheckReport', 'WaitForReport', 'SaveReport']],
    ['SaveReport', ['CheckReport', 'WaitForReport', 'SaveReport', 'WaitForReport', 'SaveReport']],
  ])('%s waits before it GETs the report, and is delivered', async (state, states) => {
    await using workflow = await startFastWorkflow({ assembly: await redrivenIn(state) });
    const outcome = await runExport(workflow);
    expect(outcome.status).toBe('SUCCEEDED');
    expect(statesOf(outcome)).toEqual(['WaitForReport', ...states]);
    expect(outcome.callsTo('report')).toHaveLength(2);
  });
});
