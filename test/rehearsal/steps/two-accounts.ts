import assert from 'node:assert/strict';
import { SFN } from '@aws-sdk/client-sfn';
import { assertChatForm } from '../observer/observer.ts';
import { assertDelivered, type DeployedStage, storeCredential } from '../stage.ts';
import { until } from '../until.ts';
import { STEPS } from './names.ts';

/** The names of the accounts by what became of them. */
interface Ends {
  readonly execution: string;
  readonly input: string;
}

/** A scheduled run of two accounts, of which one has no credential, until its days are there. */
export async function runScheduled(stage: DeployedStage): Promise<() => Promise<void>> {
  const { report, target } = stage;
  let parent: Ends | undefined;
  await report.step(STEPS.schedule, async () => {
    parent = await awaitScheduled(stage);
    return checkScheduled(stage, parent);
  });
  if (!parent) throw new Error('No scheduled run has ended.');
  const scheduled = parent;
  await report.step(STEPS.twice, () => startTwice(stage, scheduled));
  await report.step(STEPS.late, () => checkLate(stage));
  if (target.isComplete) await report.step(STEPS.alarm, () => checkAlarm(stage));
  await report.step('secret set, doctor, resume', () => mend(stage, scheduled));
  return () => report.step('ready_by: there, by event and mail', () => checkThere(stage));
}

async function awaitScheduled({ outputs }: DeployedStage): Promise<Ends> {
  const sfn = new SFN();
  const { stateMachine: stateMachineArn } = outputs;
  const find = async () => {
    const { executions = [] } = await sfn.listExecutions({ stateMachineArn, statusFilter: 'FAILED' });
    for (const { executionArn, name: execution = '' } of executions) {
      const { input = '' } = await sfn.describeExecution({ executionArn });
      const fields = JSON.parse(input);
      if ('scheduled_at' in fields && 'accounts' in fields) return { execution, input };
    }
    return undefined;
  };
  return until('the scheduled run fails', find, 20);
}

async function checkScheduled({ present, observer }: DeployedStage, { execution }: Ends): Promise<string> {
  const { outcome, failure } = await present.read(['explain', execution]);
  assert.equal(outcome, 'failed');
  const ends = failure.accounts.map((end: { account: string; outcome: string }) => [
    end.account,
    end.outcome,
  ]);
  assert.deepEqual(Object.fromEntries(ends), { acme: 'delivered', initech: 'failed' });
  const failed = failure.accounts.find((end: { outcome: string }) => end.outcome === 'failed');
  const reason = await present.read(['explain', failed.execution]);
  assert.equal(reason.failure.error, 'CredentialUnusable');
  const { rows } = await present.read(['query', 'SELECT DISTINCT account FROM shared']);
  assert.deepEqual(rows, [{ account: 'acme' }]);
  const isAbout = (account: string) => (detail: object) => JSON.stringify(detail).includes(account);
  const exported = async () => (await observer.events('Report Exported')).some(isAbout('shared'));
  const refused = async () => (await observer.events('Report Export Failed')).some(isAbout('initech'));
  await until('the event of the account that was delivered', exported);
  await until('the event of the account that was not', refused);
  return 'the run fails with CredentialUnusable of one account, and the other is delivered, each with its event';
}

/** EventBridge Scheduler delivers at least once. */
async function startTwice({ present, aws, outputs }: DeployedStage, { input }: Ends): Promise<string> {
  const { stateMachine: stateMachineArn } = outputs;
  const sfn = new SFN();
  const start = ['stepfunctions', 'start-execution', '--state-machine-arn', stateMachineArn];
  const { executionArn } = await aws.call([...start, '--input', input]);
  const ended = await until('the second start ends', async () => {
    const { status, output = '', name = '' } = await sfn.describeExecution({ executionArn });
    return status !== 'RUNNING' && { status, name, accounts: JSON.parse(output || '{}').accounts ?? [] };
  });
  const outcomes = ended.accounts.map((end: { outcome: string }) => end.outcome);
  assert.equal(ended.status, 'SUCCEEDED');
  assert.deepEqual(outcomes, ['repeated', 'repeated']);
  const { failure } = await present.read(['explain', ended.name]);
  assert.equal(failure.accounts.length, 2);
  return 'the second one finds both accounts started before, exports nothing and does not fail';
}

async function checkLate({ observer, names }: DeployedStage): Promise<string> {
  const isLate = ({ accounts }: { accounts?: unknown }) => JSON.stringify(accounts).includes('initech');
  const event = await until('the event Report Late', async () =>
    (await observer.events('Report Late')).find(isLate),
  );
  const mail = await until('its mail', async () =>
    (await observer.mails()).find(({ Subject = '' }) => /^shared of .* is late/.test(Subject)),
  );
  assert.equal(mail.Message, event.message);
  assert.match(mail.Message, /initech lacks .*\n.* run shared --account initech/);
  const chat = await until('its message for a chat service', async () =>
    (await observer.chats()).find(({ content }) => /is late/.test(content?.title)),
  );
  assertChatForm(chat);
  assert.ok(!mail.Message.includes(names.observer));
  return 'event, mail and the form for a chat service name the account that lacks its days, with the command';
}

async function checkAlarm({ aws, names, observer }: DeployedStage): Promise<string> {
  const alarm = `${names.stack}-ExportsFailed`;
  const describe = ['cloudwatch', 'describe-alarms', '--alarm-names', alarm];
  await until('the alarm is on', async () => {
    const { MetricAlarms } = await aws.call(describe);
    return MetricAlarms[0]?.StateValue === 'ALARM';
  });
  await until('its mail', async () =>
    (await observer.mails()).some(({ Message }) => Message.includes(`"AlarmName":"${alarm}"`)),
  );
  return 'ExportsFailed goes off, and the topic hears of it';
}

async function mend(stage: DeployedStage, { execution }: Ends): Promise<string> {
  const { present } = stage;
  await storeCredential(stage, present, 'initech');
  assert.equal((await present.read(['doctor'])).outcome, 'ok');
  const resumed = await present.read(['resume', execution]);
  assertDelivered(resumed, ...(resumed.accounts ?? []));
  const { rows } = await present.read(['query', 'SELECT DISTINCT account FROM shared ORDER BY account']);
  assert.deepEqual(rows, [{ account: 'acme' }, { account: 'initech' }]);
  return 'the account that failed is delivered, and the other is not exported again';
}

async function checkThere({ observer }: DeployedStage): Promise<string> {
  const isThere = ({ accounts }: { accounts?: unknown }) => JSON.stringify(accounts).includes('initech');
  const find = async () => (await observer.events('Report Ready')).find(isThere);
  const event = await until('the event Report Ready', find, 20);
  const mail = await until('its mail', async () =>
    (await observer.mails()).find(({ Subject = '' }) => /^shared of .* is there/.test(Subject)),
  );
  assert.equal(mail.Message, event.message);
  return 'the next check finds the days, and says so once';
}
