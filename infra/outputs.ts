/** Names of the stack's outputs. Commands use them to find the deployed resources. */
export const OUTPUTS = {
  stateMachine: 'StateMachineArn',
  bucket: 'BucketName',
  deadLetterQueue: 'DeadLetterQueueUrl',
  /** Absent, like the database, in a stack without tables. */
  workgroup: 'AthenaWorkgroup',
  database: 'GlueDatabase',
} as const;
