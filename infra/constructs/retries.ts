import { Duration } from 'aws-cdk-lib';
import { JitterType, type RetryProps } from 'aws-cdk-lib/aws-stepfunctions';
import type { AWS_ERRORS } from '../../functions/decisions/failure-report.ts';
import type { ErrorName } from '../../functions/workflow/errors.ts';

/** What Step Functions itself reports about a function, beside the errors that a step throws: the runbook has each. */
export type ServiceErrorName = (typeof AWS_ERRORS)[number];

type Retry = RetryProps & { readonly errors: readonly (ErrorName | ServiceErrorName)[] };

/** The contract's limit between two GETs of one report (4.4); what repeats a GET waits at least this long. */
export const POLL_SECONDS = 10;

function retry(
  errors: Retry['errors'],
  firstWait: number,
  maxAttempts: number,
  longestWait = 300,
): RetryProps {
  return {
    errors: [...errors],
    interval: Duration.seconds(firstWait),
    backoffRate: 2,
    maxAttempts,
    maxDelay: Duration.seconds(longestWait),
    // FULL would draw from 0 up, and two GETs could be less than 10 s apart.
    jitterStrategy: JitterType.NONE,
  };
}

/** The function never ran. */
const NOT_STARTED: ServiceErrorName[] = ['Lambda.TooManyRequestsException'];

/** The function may have run, in part or to its end. */
const UNKNOWN_END: ServiceErrorName[] = [
  'Lambda.ServiceException',
  'Lambda.AWSLambdaException',
  'Lambda.SdkClientException',
  'Lambda.ClientExecutionTimeoutException',
  'Lambda.Unknown',
  'Sandbox.Timedout',
  'Runtime.OutOfMemory',
  'Runtime.ExitError',
  'States.Timeout',
];

/** 10 + 20 + 40 + 80 + 160 + 300 = 610 s: an outage of ten minutes is waited for. */
const unavailable = retry(['PlatformUnavailable', 'ServiceUnavailable'], POLL_SECONDS, 6);

/** Once: an answer that cannot be read twice in a row is not a passing fault. */
const unreadable = retry(['AnswerUnreadable'], POLL_SECONDS, 1);

/** 10 + 20 + 40 = 70 s. */
const ended = retry(UNKNOWN_END, POLL_SECONDS, 3);

/** 10 + 20 + 40 + 60 × 7 = 490 s: other executions hold the concurrency for moments only. */
const throttled = retry(NOT_STARTED, POLL_SECONDS, 10, 60);

/**
 * One token request at a time (reserved concurrency 1), so many wait in line: mostly for a second each, for a minute
 * where the platform does not answer. At most 1 + 2 + 4 + 8 + 16 + 20 × 55 = 1,131 s, half of it on average, because jitter
 * draws from 0 up to spread those that came together; no GET is repeated here. Each try is three events of the history.
 */
const inLine: RetryProps = { ...retry(NOT_STARTED, 1, 60, 20), jitterStrategy: JitterType.FULL };

/** Steps that send nothing to the platform: 2 + 4 + 8 + 16 + 32 = 62 s. */
const internal = retry([...NOT_STARTED, ...UNKNOWN_END, 'ServiceUnavailable'], 2, 5);

/** What each state tries again, and how often. Everything else is final. */
export const retries = {
  PlanExport: [internal],
  GetToken: [unavailable, unreadable, ended, inLine],
  // POST /reports has no idempotency key: where the function was killed, one more try and not a second. An answer that was
  // lost is counted in the window's state, since this count begins anew whenever the state is entered.
  CreateReport: [unavailable, retry(UNKNOWN_END, POLL_SECONDS, 1), throttled],
  CheckReport: [unavailable, unreadable, ended, throttled],
  // 10 + 20 + 40 + 80 = 150 s for a copy that breaks off; each try asks for a fresh URL.
  SaveReport: [
    unavailable,
    unreadable,
    retry(['CopyFailed'], POLL_SECONDS, 4),
    retry(['UrlExpired'], POLL_SECONDS, 1),
    ended,
    throttled,
  ],
  // 10 + 20 + 40 + 80 = 150 s for an answer that breaks off; each try asks and writes anew.
  QueryPurchases: [unavailable, unreadable, retry(['CopyFailed'], POLL_SECONDS, 4), ended, throttled],
  ExportList: [unavailable, unreadable, retry(['CopyFailed'], POLL_SECONDS, 4), ended, throttled],
  PublishWindow: [internal],
  PublishExport: [internal],
  DescribeFailure: [internal],
  // 2 + 4 + 8 + 16 + 32 + 64 = 126 s. Whatever it was, an announcement can be repeated.
  Announce: [retry(['States.TaskFailed', 'States.Timeout'], 2, 6)],
} as const satisfies Record<string, readonly RetryProps[]>;
