import { createInterface } from 'node:readline/promises';
import { billOf, EXPECTED, totalOf } from './bill.ts';
import type { Names } from './names.ts';

/** Nobody should pay more for a rehearsal. */
const MAX_DOLLARS = 1;

interface Place {
  readonly account: string;
  readonly region: string;
}

/** Says what a rehearsal does to an AWS account, before it does anything. */
export function describePlan({ account, region }: Place, { stack, observer, sandbox }: Names): string {
  const dollars = totalOf(billOf(EXPECTED));
  return [
    `This rehearses in AWS account ${account}, in ${region}, for about an hour.`,
    '',
    'It creates these CloudFormation stacks, and removes them at the end, also after Ctrl-C or a failure:',
    `  ${stack} with the exports: a bucket, secrets, functions, state machines, schedules, alarms, tables`,
    `  ${observer} with a role for each policy of the exports, and a function that hears what they announce`,
    `  ${sandbox} with exports of a sandbox`,
    `  ${sandbox}-platform with the sandbox of the platform, behind a public URL that asks for a token`,
    '',
    `By list prices it costs about $${dollars.toFixed(2)}, and less than $${MAX_DOLLARS}. CDK's own stack stays as it is,`,
    'with the code of the functions in its bucket.',
  ].join('\n');
}

/**
 * Asks whether a rehearsal may begin.
 *
 * @throws Error unless the answer is yes, or if nobody can be asked
 */
export async function confirmPlan(plan: string, isAgreed: boolean, print = console.log): Promise<void> {
  print(`${plan}\n`);
  if (isAgreed) return;
  if (!process.stdin.isTTY) throw new Error('Nobody can answer here. To agree, add --yes.');
  const asked = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await asked.question('Go on? Type yes: ');
  asked.close();
  if (answer.trim() !== 'yes') throw new Error('Nothing was created.');
}
