import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SFN } from '@aws-sdk/client-sfn';
import { listKeys } from '../deployed.ts';
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
  await present.command(['close', month, 'daily-campaigns']);
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
    const { headers } = await fetch(page, { redirect: 'manual' });
    return `${headers.get('location')}\n`;
  };
  const stdout = await present.command(['login', '--account', 'globex'], { answer });
  assert.match(stdout, /Account globex is logged in/);
  const { client_id } = platform.clientOf('globex');
  assert.ok(!stdout.includes(platform.clientOf('globex').client_secret) && client_id !== '');
}

/** What the calls of the runbook look at. */
interface Subjects {
  readonly execution: string;
  readonly check: string;
  readonly object: string;
}

async function runRunbook(stage: DeployedStage): Promise<string> {
  const runbook = readRunbook(readFileSync(join(ROOT, 'infra/RUNBOOK.md'), 'utf8'));
  const subjects = await prepareSubjects(stage);
  const left: string[] = [];
  const run = async ({ call, line }: RunbookCommand) => {
    const reason = whyNot(stage, call);
    if (reason !== undefined) return left.push(`${call} (${reason})`);
    const written = await prepareLine(stage, { call, line }, runbook.setup, subjects);
    return runLine(stage, call, runbook.setup, written, subjects);
  };
  for (const command of runbook.commands) await run(command);
  await stage.present.command(['rebuild', 'daily-campaigns', '--json']);
  const shown = `${runbook.commands.length - left.length} of ${runbook.commands.length} calls as they are written`;
  return left.length === 0 ? shown : `${shown}. Left out: ${[...new Set(left)].join(', ')}`;
}

function whyNot({ target }: DeployedStage, call: string): string | undefined {
  if (call === 'kms describe-key') return 'the stack has no key';
  if (call === 'stepfunctions redrive-execution')
    return target.isComplete ? 'it has a step of its own' : 'the emulator has none';
  return undefined;
}

/** An execution with windows, a check that runs, an object of a table and a dead letter. */
async function prepareSubjects({ present, aws, outputs }: DeployedStage): Promise<Subjects> {
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
  const [object = ''] = await listKeys(outputs.bucket, 'tables/daily_campaigns/');
  assert.notEqual(object, '');
  const letter = ['--queue-url', outputs.deadLetterQueue, '--message-body', '{}'];
  await aws.call(['sqs', 'send-message', ...letter]);
  return { execution: ended.execution, check, object };
}

async function prepareLine(
  stage: DeployedStage,
  { call, line }: RunbookCommand,
  setup: string,
  subjects: Subjects,
): Promise<string> {
  const { check, object } = subjects;
  if (line.includes('-arn ARN')) return replacePlaceholder(line, 'ARN', check);
  if (call === 'sqs delete-message') {
    // The one before has hidden the first letter.
    const { outputs, aws } = stage;
    await aws.call(['sqs', 'send-message', '--queue-url', outputs.deadLetterQueue, '--message-body', '{}']);
    const receive = 'aws sqs receive-message --queue-url "$QUEUE" --output json';
    const letters = JSON.parse(await runLine(stage, 'sqs receive-message', setup, receive, subjects));
    return replacePlaceholder(line, 'AQEB…', letters.Messages[0].ReceiptHandle);
  }
  if (!line.includes('OBJECT')) return line;
  const written = replacePlaceholder(line, 'OBJECT', object);
  return call === 's3api copy-object'
    ? replacePlaceholder(written, 'ID', await findVersion(stage, object))
    : written;
}

/** The newest version of an object that was removed. */
async function findVersion({ aws, outputs }: DeployedStage, object: string): Promise<string> {
  const list = ['s3api', 'list-object-versions', '--bucket', outputs.bucket, '--prefix', object];
  const { Versions } = await aws.call(list);
  return Versions[0].VersionId;
}

/** Runs a line as somebody would who has pasted the beginning of the runbook. */
async function runLine(
  { sessions, aws, names, target, processes }: DeployedStage,
  call: string,
  setup: string,
  line: string,
  { execution }: Subjects,
): Promise<string> {
  const values = { AWS_REGION: target.region, STACK: names.stack, EXECUTION: execution };
  const script = Object.entries(values).reduce(
    (text, [name, value]) => text.replace(new RegExp(`^(export )?${name}=.*$`, 'm'), `$1${name}=${value}`),
    setup,
  );
  const policy = RUNBOOK_POLICIES[call] ?? 'operator';
  const before = policy === 'operator' ? script : keeperSetup(script);
  const session = await sessions.as(policy);
  return aws.bash(`cd '${processes.folder}'\n${before}\n${line}`, session);
}

/** A keeper may not look at executions, and at the encryption of the bucket: only the bucket's name is needed. */
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
