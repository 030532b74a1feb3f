import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SFN } from '@aws-sdk/client-sfn';
import { listKeys } from '../deployed.ts';
import type { PolicyName } from '../observer/context.ts';
import { ROOT } from '../project.ts';
import { RUNBOOK_POLICIES, type RunbookCommand, readRunbook, replacePlaceholder } from '../runbook.ts';
import { POLICY_OF } from '../sessions.ts';
import { assertDelivered, type DeployedStage } from '../stage.ts';
import { until } from '../until.ts';
import { stopDaily } from './exports.ts';
import { STEPS } from './names.ts';

/** Runs the commands that no other step has run, and each call of the runbook, with one policy each. */
export async function usePolicies(stage: DeployedStage): Promise<void> {
  const { report, target } = stage;
  await report.step('every command with its policy alone', () => runOtherCommands(stage));
  await report.step(STEPS.runbook, () => runRunbook(stage));
  if (target.isComplete) await report.step(STEPS.redrive, () => redrive(stage));
}

async function runOtherCommands(stage: DeployedStage): Promise<string> {
  const { present, processes, platform } = stage;
  await present.read(['plan', 'daily-campaigns']);
  await present.command(['contract']);
  await present.command(['dbt', join(processes.folder, 'dbt')]);
  await present.read(['rebuild', 'daily-campaigns']);
  const month = new Date(Date.now() - 86_400_000).toISOString().slice(0, 7);
  await present.command(['close', month, 'daily-campaigns', '--anyway']);
  if (platform.sandbox) await logIn(stage, platform.sandbox.baseUrl);
  const help = await present.command(['--help']);
  const [, list = ''] = help.split('Commands:\n');
  const commands = [...list.matchAll(/^ {2}(\w+)/gm)].map(([, name = '']) => name);
  // `help` is commander's own. What has no policy calls nothing of AWS.
  assert.deepEqual(commands.filter((name) => name !== 'help').toSorted(), Object.keys(POLICY_OF).toSorted());
  const withPolicy = commands.filter((name) => POLICY_OF[name] !== undefined);
  const unused = withPolicy.filter((name) => !present.used.has(name));
  assert.deepEqual(unused, platform.sandbox ? [] : ['login']);
  const counts = Object.groupBy(withPolicy, (name) => POLICY_OF[name] ?? '');
  return Object.entries(counts)
    .map(([policy, names = []]) => `${policy}: ${names.toSorted().join(', ')}`)
    .join('; ');
}

/** Consents as a user would do in a browser, and pastes the redirected address. */
async function logIn({ present, platform }: DeployedStage, baseUrl: string): Promise<void> {
  const answer = async (stdout: string) => {
    const [address] = /https:\S+/.exec(stdout) ?? [];
    if (address === undefined) return undefined;
    const { pathname, search } = new URL(address);
    const page = new URL(pathname.slice(1) + search, `${baseUrl}/`);
    const body = new URLSearchParams({ decision: 'allow' });
    const { headers } = await fetch(page, { method: 'POST', body, redirect: 'manual' });
    return `${headers.get('location')}\n`;
  };
  const stdout = await present.command(['login', '--account', 'globex'], { answer });
  assert.match(stdout, /Account globex is logged in/);
  assert.ok(!stdout.includes(platform.clientOf('globex').client_secret));
}

/** What the calls of the runbook look at. */
interface Subjects {
  readonly execution: string;
  readonly check: string;
  readonly object: string;
}

async function runRunbook(stage: DeployedStage): Promise<string> {
  const { setup, commands } = readRunbook(readFileSync(join(ROOT, 'infra/RUNBOOK.md'), 'utf8'));
  const subjects = await prepareSubjects(stage);
  const beginnings: Record<PolicyName, string> = {
    operator: await paste(stage, 'operator', setup, subjects),
    keeper: await paste(stage, 'keeper', keeperSetup(setup), subjects),
    reader: '',
  };
  const run = async ({ call, line }: RunbookCommand) => {
    const policy = RUNBOOK_POLICIES[call] ?? 'operator';
    return stage.aws.bash(`${beginnings[policy]}\n${line}`, await stage.sessions.as(policy));
  };
  const left: string[] = [];
  for (const command of commands) {
    const reason = whyNot(stage, command.call);
    if (reason !== undefined) left.push(`${command.call} (${reason})`);
    else await run({ ...command, line: await prepareLine(stage, command, subjects, run) });
  }
  // One of them has restored a month by hand.
  await stage.present.command(['rebuild', 'daily-campaigns', '--json']);
  const shown = `${commands.length - left.length} of ${commands.length} calls as they are written`;
  return left.length === 0 ? shown : `${shown}. Left out: ${left.join(', ')}`;
}

function whyNot({ target }: DeployedStage, call: string): string | undefined {
  if (call === 'kms describe-key') return 'the stack has no key';
  if (call === 'stepfunctions redrive-execution')
    return target.isComplete ? 'it has a step of its own' : 'the emulator has none';
  return undefined;
}

/** An execution with windows, a check that runs, an object of a table and a dead letter. */
async function prepareSubjects(stage: DeployedStage): Promise<Subjects> {
  const { present, aws, outputs } = stage;
  const ended = await present.read(['run', 'daily-campaigns']);
  assertDelivered(ended);
  const { executions = [] } = await new SFN().listExecutions({ stateMachineArn: outputs.readyChecks });
  const { input = '' } = await new SFN().describeExecution({
    executionArn: executions[0]?.executionArn ?? '',
  });
  // Nothing was delivered since tomorrow, so this check waits until somebody stops it.
  const tomorrow = new Date(Date.now() + 2 * 86_400_000).toISOString();
  const late = JSON.stringify({ ...JSON.parse(input), checked_at: tomorrow });
  const start = ['stepfunctions', 'start-execution', '--state-machine-arn', outputs.readyChecks];
  const { executionArn: check } = await aws.call([...start, '--input', late]);
  const [object = ''] = await listKeys(outputs.bucket, 'tables/daily-campaigns/');
  assert.notEqual(object, '');
  await sendDeadLetter(stage);
  return { execution: ended.execution, check, object };
}

/** Writes what somebody has seen before in place of what the line names in capitals. */
async function prepareLine(
  stage: DeployedStage,
  { call, line }: RunbookCommand,
  { check, object }: Subjects,
  run: (command: RunbookCommand) => Promise<string>,
): Promise<string> {
  if (line.includes('-arn ARN')) return replacePlaceholder(line, 'ARN', check);
  if (call === 'sqs delete-message') {
    // The first letter is hidden, because the line before has received it.
    await sendDeadLetter(stage);
    const receive = 'aws sqs receive-message --queue-url "$QUEUE" --output json';
    const letters = JSON.parse(await run({ call: 'sqs receive-message', line: receive }));
    return replacePlaceholder(line, 'AQEB…', letters.Messages[0].ReceiptHandle);
  }
  if (!line.includes('OBJECT')) return line;
  const written = replacePlaceholder(line, 'OBJECT', object);
  if (call !== 's3api copy-object') return written;
  return replacePlaceholder(written, 'ID', await findVersion(stage, object));
}

async function sendDeadLetter({ aws, outputs }: DeployedStage): Promise<void> {
  const letter = ['--queue-url', outputs.deadLetterQueue, '--message-body', '{}'];
  await aws.call(['sqs', 'send-message', ...letter]);
}

/** The newest version of an object that was removed. */
async function findVersion({ aws, outputs }: DeployedStage, object: string): Promise<string> {
  const list = ['s3api', 'list-object-versions', '--bucket', outputs.bucket, '--prefix', object];
  const { Versions } = await aws.call(list);
  return Versions[0].VersionId;
}

/**
 * Pastes the beginning of the runbook, with the names of this rehearsal.
 *
 * @returns lines of Bash that set the same variables and functions, without asking AWS again
 */
async function paste(
  { sessions, aws, names, target, processes }: DeployedStage,
  policy: PolicyName,
  setup: string,
  { execution }: Subjects,
): Promise<string> {
  const values = { AWS_REGION: target.region, STACK: names.stack, EXECUTION: execution };
  const script = Object.entries(values).reduce(
    (text, [name, value]) => text.replace(new RegExp(`^(export )?${name}=.*$`, 'm'), `$1${name}=${value}`),
    setup,
  );
  const variables = [...script.matchAll(/^(?:export )?([A-Z_]+)=/gm)].map(([, name]) => name);
  const keep = `declare -p ${variables.join(' ')}\ndeclare -f`;
  const set = await aws.bash(`${script}\n${keep}`, await sessions.as(policy));
  // A call of the runbook writes a file.
  return `cd '${processes.folder}'\n${set}`;
}

/** A keeper may not look at executions or the bucket's encryption, so only the bucket's name is needed. */
function keeperSetup(script: string): string {
  return script
    .split('\n')
    .filter((line) => !/^(KEY|MAP_RUN)=|--query 'ServerSide/.test(line))
    .join('\n');
}

async function redrive(stage: DeployedStage): Promise<string> {
  const { outputs, present, sessions, aws } = stage;
  const sfn = new SFN();
  const arnOf = (name: string) => `${outputs.stateMachine.replace(':stateMachine:', ':execution:')}:${name}`;
  const { execution, run } = await stopDaily(stage, async (name) => {
    await sfn.stopExecution({ executionArn: arnOf(name) });
  });
  await run;
  const call = `aws stepfunctions redrive-execution --execution-arn '${arnOf(execution)}'`;
  await aws.bash(call, await sessions.as('operator'));
  const ended = await until('the redriven execution ends', async () => {
    const described = await sfn.describeExecution({ executionArn: arnOf(execution) });
    return !['RUNNING', 'PENDING_REDRIVE'].includes(described.status ?? '') && described;
  });
  assert.deepEqual(
    { status: ended.status, redriveCount: ended.redriveCount },
    { status: 'SUCCEEDED', redriveCount: 1 },
  );
  assert.equal((await present.read(['explain', execution])).outcome, 'delivered');
  return 'a stopped export continues where it was, and is delivered';
}
