import { Command, CommanderError } from 'commander';
import PACKAGE from '../../../package.json' with { type: 'json' };
import { forgetAwsSettings } from '../../lab/local/aws-settings.ts';
import { PROGRAM } from '../../package.ts';
import type { Folder } from '../place/bucket.ts';
import { CommandFailed, explainStepError, UsageError } from '../place/errors.ts';
import { BAD_USAGE, FAILED } from './exit-status.ts';
import { printDocument, printMessage } from './layout.ts';

type Load = () => Promise<{ createCommand(): Command }>;

/** Only the code of the command that runs is loaded: zod and AWS's SDK take tens of milliseconds. */
const COMMANDS: Readonly<Record<string, readonly [description: string, load: Load]>> = {
  run: ['Start an export and follow it until it ends.', () => import('./run/run.ts')],
  missing: ['Show the days that an export lacks, and what brings them.', () => import('./days/missing.ts')],
  close: ['Keep what the days of a month show, to see later what changed.', () => import('./days/close.ts')],
  check: ['Compare a table with the files, manifests and ledger.', () => import('./days/check.ts')],
  plan: ['Show the windows, the time and the cost of an export.', () => import('./run/plan.ts')],
  resume: ['Export the windows that an execution did not deliver.', () => import('./executions/resume.ts')],
  rebuild: ["Write an export's table again from the delivered files.", () => import('./rebuild.ts')],
  query: ['Run SQL on the tables of the exports.', () => import('./query/query.ts')],
  status: ['Show what runs, how the last runs ended, and what is missing.', () => import('./days/status.ts')],
  page: ['Write one HTML file that shows all exports.', () => import('./page.ts')],
  stop: ['Stop an execution. What was delivered stays.', () => import('./executions/stop.ts')],
  explain: ['Show what became of an execution and its windows.', () => import('./executions/explain.ts')],
  login: ["Log in to the platform, and store the account's login.", () => import('./accounts/login.ts')],
  doctor: ['Check credential, token, scopes and revision.', () => import('./accounts/doctor.ts')],
  secret: ["Store an account's credential from standard input.", () => import('./accounts/secret.ts')],
  dbt: ['Write a dbt project for the tables.', () => import('./dbt.ts')],
  contract: ['Print a data contract of the tables, in YAML.', () => import('./contract.ts')],
  init: ['Write a small CDK app that deploys the exports.', () => import('./init.ts')],
  sandbox: ["Serve the platform's API on this machine with invented data.", () => import('./sandbox.ts')],
};

/** Short forms of commands. */
const SHORT: Readonly<Record<string, readonly string[]>> = { start: ['run', '--local'] };

/** Commands that need no deployed stack. */
const NO_STACK = ['init', 'sandbox'];

/** Commands that change a deployed stack. They say first in which AWS account and Region it is. */
const WRITING = ['close', 'run', 'resume', 'stop', 'rebuild', 'secret', 'login'];

/** @param args `help run` is `run --help` */
async function createProgram(args: readonly string[]): Promise<Command> {
  const named = args[0] === 'help' ? args[1] : args[0];
  const program = new Command(PROGRAM)
    .description("Export an advertising platform's reports to S3.")
    .version(PACKAGE.version)
    .addHelpText(
      'after',
      "\n'start' is 'run --local'.\nExit status: 0 delivered or done, 1 failed, 2 bad usage or input, 3 not in the table (--strict), 130 after Ctrl-C or a stop.",
    )
    .exitOverride();
  for (const [name, [description, load]] of Object.entries(COMMANDS)) {
    const command = name === named ? await prepare((await load()).createCommand()) : new Command(name);
    program.addCommand(command.description(description).exitOverride());
  }
  return program;
}

async function prepare(command: Command): Promise<Command> {
  const [{ setConfigFile }, { setTarget }, { checkLocalOnly, option }] = await Promise.all([
    import('../place/load-config.ts'),
    import('../place/deployment.ts'),
    import('./options.ts'),
  ]);
  if (!NO_STACK.includes(command.name())) command.addOption(option.stack()).addOption(option.region());
  return command.addOption(option.config()).hook('preAction', () => {
    checkLocalOnly(command);
    if (command.opts().local) forgetAwsSettings();
    setConfigFile(command.opts().config, command.opts().local || NO_STACK.includes(command.name()));
    const tell = (place: string) => printMessage(`Working on ${place}.`);
    const { local, out } = command.opts<Partial<Folder>>();
    const couldBeLocal = !local && command.options.some(({ long }) => long === '--local');
    setTarget(command.opts(), {
      onFound: WRITING.includes(command.name()) ? tell : undefined,
      instead: couldBeLocal ? out : undefined,
    });
  });
}

/** Prints an error, also as a JSON document with `--json`, and returns the exit status. */
function reportError(thrown: unknown): number {
  const error = explainStepError(thrown);
  const print = (document: object) => {
    if (process.argv.includes('--json')) printDocument({ outcome: 'failed', ...document });
  };
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0; // --help, --version
    // Commander has already printed the message.
    print({ error: 'InvalidInput', faults: [error.message.replace(/^error: /, '')] });
    return BAD_USAGE;
  }
  const isOurs = error instanceof UsageError || error instanceof CommandFailed;
  printMessage(isOurs ? error.message : String(error instanceof Error ? (error.stack ?? error) : error));
  if (error instanceof UsageError) print({ error: 'InvalidInput', faults: error.faults });
  if (error instanceof CommandFailed)
    print({ error: error.name, happened: error.happened, todo: error.todo });
  return error instanceof UsageError ? BAD_USAGE : FAILED;
}

/**
 * An export continues when its output cannot be written. A closed pipe, as with `| head`, is not a failure. A
 * full disk is, because the result was lost.
 */
export function continueWithoutOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  process.stdout.once('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') return;
    process.stderr.write(`error: the output cannot be written (${code})\n`);
    process.on('exit', () => {
      process.exitCode ||= FAILED;
    });
  });
}

/** Runs this process's command line, and sets the exit status. */
export async function runCommandLine(): Promise<void> {
  try {
    const [first = [], ...rest] = process.argv.slice(2);
    const args = [SHORT[String(first)] ?? first, rest].flat();
    const program = await createProgram(args);
    // Commander answers `help` and an unknown command with all of its help, as if there was no command.
    const isUnknown = args[0] === 'help' && args[1] !== undefined && !Object.hasOwn(COMMANDS, args[1]);
    await program.parseAsync(isUnknown ? args.slice(1) : args, { from: 'user' });
  } catch (error) {
    process.exitCode = reportError(error);
  }
}
