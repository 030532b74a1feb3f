/** The policies for people, by the output of the stack that has their ARN. */
export const POLICY_OUTPUTS = {
  operator: 'operatorPolicy',
  keeper: 'keeperPolicy',
  reader: 'readerPolicy',
} as const;

export type PolicyName = keyof typeof POLICY_OUTPUTS;

export const POLICIES = Object.keys(POLICY_OUTPUTS) as PolicyName[];

/** What the observer's app needs to know of the stack at which it looks. */
export interface ObserverContext {
  readonly name: string;
  readonly topicArn: string;
  readonly policyArns: Readonly<Record<PolicyName, string>>;
}
