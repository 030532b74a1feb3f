import { Command } from 'commander';
import { commandFor } from '../../days/next-command.ts';
import { createStepFunctions, findExecution, hasEnded } from '../../executions/deployed.ts';
import { UsageError } from '../../place/errors.ts';
import { printDocument, printLines } from '../layout.ts';
import { type CommonOptions, examples, option } from '../options.ts';

export function createCommand(): Command {
  return new Command('stop')
    .argument('<execution>', 'the name of an execution that is running')
    .addOption(option.json())
    .addHelpText('after', examples('stop daily-campaigns-20261001-20261101-20261121T041500123Z'))
    .action(stop);
}

/** Step Functions stops the windows with their execution, within seconds. */
async function stop(named: string, { json }: CommonOptions): Promise<void> {
  const description = await findExecution(named);
  const { executionArn = '', name: execution = '', status } = description;
  if (hasEnded(description)) throw new UsageError([`${named} has ended already (${status})`]);
  // Without an error and a cause, the caller needs no permission on the key of an encrypted state machine.
  await createStepFunctions(executionArn).stopExecution({ executionArn });
  const resume = commandFor(['resume', execution]);
  if (json) printDocument({ outcome: 'stopped', execution, resume });
  else
    printLines([`Stopped ${execution}. Windows that were delivered stay.`, `To export the rest: ${resume}`]);
}
