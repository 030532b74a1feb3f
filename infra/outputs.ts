/** Names of the stack's outputs, by which commands find what was deployed. */
export const OUTPUTS = {
  stateMachine: 'StateMachineArn',
  bucket: 'BucketName',
  unstarted: 'UnstartedQueueUrl',
} as const;
