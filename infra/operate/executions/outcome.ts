import { type ErrorName, errors, readCause } from '../../../functions/workflow/errors.ts';
import { parseJson } from '../../../functions/workflow/json.ts';
import type { FailureReport } from '../../../functions/workflow/state-parts.ts';
import type { AccountEnd, ExportResult } from '../../../functions/workflow/states.ts';
import { commandFor } from '../days/next-command.ts';
import { credentialFile, type PlatformOptions } from '../place/target-platform.ts';

/** The end of an export, deployed or local: the document that `--json` prints. */
export type Outcome =
  | AccountsOutcome
  | ({ readonly outcome: 'delivered' } & ExportResult)
  | ({ readonly outcome: 'failed' } & (FailureReport | Unreported))
  | Interrupted;

/** The end of an export of accounts, each with an execution of its own. It failed if all are `repeated`. */
export interface AccountsOutcome {
  readonly outcome: 'delivered' | 'failed';
  readonly version: '1';
  readonly execution: string;
  readonly accounts: readonly AccountEnd[];
}

/** A signal ended the command, or somebody stopped the execution. */
export interface Interrupted {
  readonly outcome: 'interrupted';
  readonly version: '1';
  readonly execution: string;
  /** A deployed execution continues without the command; a local one has stopped. */
  readonly continues: boolean;
  /** The command that shows how the execution is doing, or that exports the rest of it. */
  readonly next: string;
}

/** An execution that ended without a failure report: timed out, or unable to write one. */
type Unreported = Pick<FailureReport, 'version' | 'happened' | 'todo' | 'execution'> & {
  readonly error: string;
};

/** The end of an execution as Step Functions describes it. */
export interface ExecutionEnd {
  readonly name?: string | undefined;
  readonly status?: string | undefined;
  readonly output?: unknown;
  readonly error?: string | undefined;
  readonly cause?: string | undefined;
  /** Only for an export of accounts, once all have ended. */
  readonly accounts?: readonly AccountEnd[] | undefined;
}

/** @param next the command that exports the rest of an execution that somebody stopped */
export function outcomeOf(end: ExecutionEnd, next = commandFor(['resume', end.name ?? ''])): Outcome {
  const { name: execution = '', status, accounts } = end;
  if (accounts) {
    const isNothing = accounts.every(({ outcome }) => outcome === 'repeated');
    const outcome = status === 'SUCCEEDED' && !isNothing ? ('delivered' as const) : ('failed' as const);
    return { outcome, version: '1', execution, accounts };
  }
  if (status === 'SUCCEEDED') return { outcome: 'delivered', ...(end.output as ExportResult) };
  if (status === 'ABORTED')
    return { outcome: 'interrupted', version: '1', execution, continues: false, next };
  return { outcome: 'failed', ...(readFailureReport(end.cause) ?? describeUnreported(end)) };
}

/** The Cause of an export that failed is its failure report. */
function readFailureReport(cause = ''): FailureReport | undefined {
  const report: Partial<FailureReport> = Object(parseJson(cause));
  return typeof report.happened === 'string' ? (report as FailureReport) : undefined;
}

function describeUnreported({ name = '', status = '', error, cause }: ExecutionEnd): Unreported {
  return {
    version: '1',
    error: error ?? status,
    happened:
      cause === undefined ? `The execution ended with the status ${status}.` : readCause(cause).happened,
    todo: 'Resume the execution, or run its request again with --only-missing.',
    execution: name,
  };
}

/** Says what to do next on this machine. A failure report speaks of secrets, functions and AWS. */
export function adviseLocally<Failed extends { readonly error: string; readonly todo: string }>(
  failure: Failed,
  { account, out, baseUrl, ...options }: PlatformOptions & { readonly account: string; readonly out: string },
): Failed {
  const credential = options.credential && credentialFile(options.credential, account);
  const file = credential ?? 'the credential file';
  const login = commandFor(['login'], { account, local: true, 'base-url': baseUrl, credential });
  const checkFolder = `No AWS is involved: check that ${out} can be read and written, then run the export again.`;
  const steps: { readonly [name in ErrorName]?: string } = {
    CredentialUnusable: `Correct ${file}, or name another file with --credential.`,
    LoginRequired: `Log in again (${login}), then run the export again.`,
    ...(baseUrl !== undefined && {
      TokenRefusedAgain: `Check ${file}, its scope and --base-url, then run the export again.`,
      PlatformUnavailable: 'Check --base-url, or wait until the platform is back. Then run the export again.',
    }),
    AccessRefused: checkFolder,
    ServiceUnavailable: checkFolder,
    ExportIncomplete: 'Read the failures of the windows, then run the export again.',
  };
  const isKnown = Object.hasOwn(errors, failure.error);
  const unknown = `Run the export again. If it fails again, give ${out}/history.json to the maintainers.`;
  return { ...failure, todo: isKnown ? (steps[failure.error as ErrorName] ?? failure.todo) : unknown };
}
