import { Duration } from 'aws-cdk-lib';
import { JitterType, type RetryProps } from 'aws-cdk-lib/aws-stepfunctions';
import type { AWS_ERRORS } from '../../../functions/decisions/failure-report.ts';
import { MIN_WAIT } from '../../../functions/decisions/waits.ts';
import type { ErrorName } from '../../../functions/workflow/errors.ts';
import type { StepName } from '../config/memory.ts';

/** Step Functions refused to start an execution, or its answer was lost. No failure report has these. */
const START_FAILED = [
  'StepFunctions.AWSStepFunctionsException',
  // AWS documents the error without `Exception`, and in states most names end with it.
  'StepFunctions.ExecutionLimitExceeded',
  'StepFunctions.ExecutionLimitExceededException',
  'StepFunctions.SdkClientException',
  'StepFunctions.ThrottlingException',
] as const;

/** @param timing seconds before the `first` retry and of the `longest` wait. A wait doubles the one before */
function retry(
  errors: readonly (ErrorName | (typeof AWS_ERRORS)[number] | (typeof START_FAILED)[number])[],
  timing: { first: number; times: number; longest?: number; jitter?: JitterType },
): RetryProps {
  return {
    errors: [...errors],
    interval: Duration.seconds(timing.first),
    backoffRate: 2,
    maxAttempts: timing.times,
    maxDelay: Duration.seconds(timing.longest ?? 300),
    // FULL jitter draws from 0 up, which could bring two GETs of a report closer than 10 s.
    jitterStrategy: timing.jitter ?? JitterType.NONE,
  };
}

/**
 * Lambda did not start the function: others take all of its concurrency, or nobody called it for weeks. Then
 * the first call wakes it, which takes a minute or two.
 */
export const NOT_STARTED = [
  'Lambda.TooManyRequestsException',
  'Lambda.CodeArtifactUserPendingException',
  'Lambda.ResourceConflictException',
  'Lambda.ResourceNotReadyException',
] as const;

/** The function may have run, partly or to its end. */
const KILLED = [
  'Lambda.ServiceException',
  'Lambda.AWSLambdaException',
  'Lambda.SdkClientException',
  'Lambda.ClientExecutionTimeoutException',
  'Lambda.Unknown',
  'Sandbox.Timedout',
  'Runtime.OutOfMemory',
  'Runtime.ExitError',
  'States.Timeout',
] as const;

const UNAVAILABLE = ['PlatformUnavailable', 'ServiceUnavailable'] as const;

// Two GETs of one report are at least MIN_WAIT apart (contract 4.4), so these begin with it.

/** 10 + 20 + 40 + 80 + 160 + 300 = 610 s: outlasts an outage of ten minutes. */
const unavailable = retry(UNAVAILABLE, { first: MIN_WAIT, times: 6 });

/** Once: an answer that is unreadable twice in a row will not become readable soon. */
const unreadable = retry(['AnswerUnreadable'], { first: MIN_WAIT, times: 1 });

/** 10 + 20 + 40 + 80 = 150 s. Each retry copies with a fresh URL, or sends the query again. */
const copyFailed = retry(['CopyFailed'], { first: MIN_WAIT, times: 4 });

/** Once: a new GET gives a fresh URL. */
const urlExpired = retry(['UrlExpired'], { first: MIN_WAIT, times: 1 });

/** 10 + 20 + 40 = 70 s. */
const killed = retry(KILLED, { first: MIN_WAIT, times: 3 });

/** 10 + 20 + 40 + 60 × 7 = 490 s. */
const notStarted = retry(NOT_STARTED, { first: MIN_WAIT, times: 10, longest: 60 });

// These belong only to steps that GET no report.

/** 1 + 2 + 4 + 8 + 16 + 32 + 64 + 120 × 4 = 607 s: as long as `unavailable`, but one 5xx costs 1 s. */
const unavailableSoon = retry(UNAVAILABLE, { first: 1, times: 11, longest: 120 });

/** POST /reports has no idempotency key, so it is sent at most once more if its function was killed. */
const killedOnce = retry(KILLED, { first: MIN_WAIT, times: 1 });

/**
 * One GetToken renews an account's token, and the others wait: usually for a second, for half a minute while
 * the platform does not answer, for a minute if that one was killed. 1 + 2 + 4 + 8 + 16 + 20 × 55 = 1,131 s
 * at most, and half of it on average, because FULL jitter spreads calls that arrived together.
 */
const queued = retry([...NOT_STARTED, 'ServiceUnavailable'], {
  first: 1,
  times: 60,
  longest: 20,
  jitter: JitterType.FULL,
});

/**
 * The token endpoint asks to wait. 10 + 20 + 40 + 80 + 160 + 300 × 10 = 3,310 s: outlasts a maintenance of 55
 * minutes. Only a try after the time that the endpoint named sends a request: the account's lease has it.
 */
const askedToWait = retry(['RateLimited'], { first: MIN_WAIT, times: 15 });

/** Steps that send nothing to the platform: 2 + 4 + 8 + 16 + 32 = 62 s. */
const internal = retry([...KILLED, 'ServiceUnavailable'], { first: 2, times: 5 });

/** 2 + 4 + 8 + 16 + 32 = 62 s. */
const busy = retry(['ServiceUnavailable'], { first: 2, times: 5 });

/** Twice, then the file is delivered without its rows: one that is too large kills each call. */
const killedTwice = retry(KILLED, { first: 2, times: 2 });

/** Sending an event again does no harm, whatever the error: 2 + 4 + 8 + 16 + 32 + 64 = 126 s. */
const announcement = retry(['States.TaskFailed', 'States.Timeout'], { first: 2, times: 6 });

/**
 * 2 + 4 + 8 + 16 + 32 + 64 = 126 s, and half of it on average: FULL jitter spreads up to 40 starts. A name
 * starts one execution, so a start whose answer was lost finds it.
 */
const startFailed = retry(START_FAILED, { first: 2, times: 6, jitter: JitterType.FULL });

/** The Retry of each step. All other errors are final. */
export const retries = {
  PlanExport: [internal, notStarted],
  GetToken: [queued, unavailableSoon, askedToWait, unreadable, killed],
  ListAdvertisers: [unavailable, unreadable, killed, notStarted],
  // Lost answers are counted in the window's state: a Retry's count starts again with each entry.
  CreateReport: [unavailableSoon, killedOnce, notStarted],
  CheckReport: [unavailable, unreadable, killed, notStarted],
  SaveReport: [unavailable, unreadable, copyFailed, urlExpired, killed, notStarted],
  QueryPurchases: [unavailable, unreadable, copyFailed, killed, notStarted],
  ExportList: [unavailable, unreadable, copyFailed, killed, notStarted],
  CurateReport: [busy, killedTwice, notStarted],
  PublishWindow: [internal, notStarted],
  PublishExport: [internal, notStarted],
  DescribeFailure: [internal, notStarted],
  CheckReady: [internal, notStarted],
  Announce: [announcement],
  ExportAccount: [startFailed],
} as const satisfies Record<StepName | 'Announce' | 'ExportAccount', readonly RetryProps[]>;
