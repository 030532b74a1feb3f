import { expect, it } from 'vitest';
import { type Assembly, loadAssembly, prepareAssembly } from '../../../infra/lab/local/assembly/assembly.ts';
import { deliver, startFastWorkflow } from '../../support/run-export.ts';

/** The stack of a window that was redriven in this state. The interpreter itself knows no redrive. */
async function redrivenIn(state: string): Promise<Assembly> {
  const assembly = loadAssembly(prepareAssembly());
  return JSON.parse(JSON.stringify(assembly), (name, value) => {
    if (name !== state) return value;
    const { 'redrive_count.$': _, ...parameters } = value.Parameters;
    return { ...value, Parameters: { ...parameters, redrive_count: 1 } };
  });
}

it('P3, 30: a window that is redriven in SaveReport waits before it GETs the report, and is delivered', async () => {
  await using workflow = await startFastWorkflow({ assembly: await redrivenIn('SaveReport') });
  const outcome = await deliver(workflow);
  const entered = outcome.events.filter(({ type }) => type === 'StateEntered').map(({ state = '' }) => state);
  const states = entered.filter((state) => ['WaitForReport', 'CheckReport', 'SaveReport'].includes(state));
  expect(states).toEqual([
    ...['WaitForReport', 'CheckReport', 'WaitForReport'],
    ...['SaveReport', 'WaitForReport', 'SaveReport'],
  ]);
  expect(outcome.callsTo('report')).toHaveLength(2);
});
