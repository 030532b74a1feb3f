import { type OnEventOptions, Rule } from 'aws-cdk-lib/aws-events';
import type { IStateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';
import { InvalidConfig } from '../config/config.ts';
import { EVENT_SOURCE } from './workflow-states.ts';

/** Creates a rule for an event that a state machine of this stack sends. */
export function createEventRule(
  scope: Construct,
  id: string,
  detailType: string,
  sender: IStateMachine,
  options: OnEventOptions = {},
): Rule {
  const rule = new Rule(options.crossStackScope ?? scope, id, options);
  // Step Functions adds its state machine. Other stacks send the same event.
  const resources = [sender.stateMachineArn];
  rule.addEventPattern({ source: [EVENT_SOURCE], detailType: [detailType], resources });
  if (options.target) rule.addTarget(options.target);
  return rule;
}

/**
 * Creates a rule for the event `Report Late`.
 *
 * @throws InvalidConfig if no run has `ready_by`, so that nothing sends it
 */
export function createLateRule(
  scope: Construct,
  id: string,
  readyChecks: IStateMachine | undefined,
  options?: OnEventOptions,
): Rule {
  if (readyChecks) return createEventRule(scope, id, 'Report Late', readyChecks, options);
  throw new InvalidConfig([`${scope.node.path}: onLate needs a run with ready_by`]);
}
