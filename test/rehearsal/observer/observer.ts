import assert from 'node:assert/strict';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AwsCli } from '../aws-cli.ts';
import { listKeys, type Outputs, readJson, readStackOutputs } from '../deployed.ts';
import type { Project } from '../project.ts';
import { until } from '../until.ts';
import { type ObserverContext, POLICIES, POLICY_OUTPUTS, type PolicyName } from './context.ts';

/** Of the app. It has no cdk.json. */
const HERE = fileURLToPath(new URL('.', import.meta.url));

/** What AWS handed to the observer's function. */
interface Call {
  readonly 'detail-type'?: string;
  readonly resources?: readonly string[];
  readonly detail?: Readonly<Record<string, unknown>>;
  readonly Records?: readonly { readonly Sns: { readonly Subject: string; readonly Message: string } }[];
  readonly body?: string;
  readonly isBase64Encoded?: boolean;
}

export type Observer = ReturnType<typeof createObserver>;

interface ObserverProps {
  readonly aws: AwsCli;
  readonly project: Project;
  readonly name: string;
  /** For the app's output. */
  readonly folder: string;
}

/** The stack beside the rehearsed one, and what it has been told. */
export function createObserver({ aws, project, name, folder }: ObserverProps) {
  let bucket = '';
  const calls = new Map<string, Call>();

  async function readCalls(): Promise<Call[]> {
    for (const key of await listKeys(bucket))
      if (!calls.has(key)) calls.set(key, await readJson(bucket, key));
    return [...calls.values()];
  }

  return {
    /** @returns the roles, by policy */
    async deploy({ alarmTopic: topicArn, ...outputs }: Outputs): Promise<Record<PolicyName, string>> {
      const arns = POLICIES.map((policy) => [policy, outputs[POLICY_OUTPUTS[policy]]]);
      const context: ObserverContext = { name, topicArn, policyArns: Object.fromEntries(arns) };
      const app = ['--app', 'node app.ts', '--output', join(folder, 'observer.out')];
      const options = ['--context', `observer=${JSON.stringify(context)}`, '--require-approval', 'never'];
      await project.cdk(['deploy', ...app, ...options], HERE);
      const { Bucket = '', ChatUrl = '', ...roles } = await readStackOutputs(name);
      bucket = Bucket;
      const subscribe = ['sns', 'subscribe', '--topic-arn', topicArn, '--protocol', 'https'];
      await aws.call([...subscribe, '--notification-endpoint', ChatUrl]);
      const confirmation = await until('SNS asks to confirm the chat service', async () =>
        (await readChat()).find(({ Type }) => Type === 'SubscriptionConfirmation'),
      );
      const { TopicArn, Token } = confirmation;
      await aws.call(['sns', 'confirm-subscription', '--topic-arn', TopicArn, '--token', Token]);
      const roleOf = (policy: PolicyName) => roles[`${policy}Role`] ?? '';
      return { operator: roleOf('operator'), keeper: roleOf('keeper'), reader: roleOf('reader') };
    },
    /** The details of the events that the stack has sent, of one type. */
    async events(type: string) {
      const events = (await readCalls()).filter((call) => call['detail-type'] === type);
      return events.map(({ detail }) => detail ?? {});
    },
    /** The messages that the topic sent as mails. A function gets the same text. */
    async mails() {
      return (await readCalls()).flatMap(({ Records = [] }) => Records.map(({ Sns }) => Sns));
    },
    /** The messages that a chat service got. */
    async chats() {
      const messages = (await readChat()).filter(({ Type }) => Type === 'Notification');
      return messages.map(({ Message }) => JSON.parse(Message));
    },
  };

  async function readChat() {
    const bodies = (await readCalls()).flatMap(({ body, isBase64Encoded }) => {
      if (body === undefined) return [];
      return [isBase64Encoded ? Buffer.from(body, 'base64').toString() : body];
    });
    return bodies.map((body) => JSON.parse(body));
  }
}

/** The form that AWS's chat service takes. Its documents call it a custom notification. */
export function assertChatForm(message: unknown): void {
  const { version, source, content } = Object(message);
  assert.deepEqual({ version, source }, { version: '1.0', source: 'custom' });
  assert.deepEqual(Object.keys(content).toSorted(), ['description', 'title']);
}
