import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { CommandFailed, explainStepError, UsageError } from '../knowledge/errors.ts';
import { BAD_USAGE, FAILED } from './exit-status.ts';
import { printDocument, printMessage } from './layout.ts';

const PACKAGE = new URL('../../package.json', import.meta.url);

/** Only the code of the command that runs is loaded: zod and each AWS SDK client take tens of milliseconds. */
const COMMANDS: Readonly<
  Record<string, { readonly description: string; readonly load: () => Promise<Command> }>
> = {
  run: {
    description: 'Start an export and follow it until it ends.',
    load: async () => (await import('./run/run.ts')).createRunCommand(),
  },
  missing: {
    description:
      'Show the days of an export that were not delivered or are not in its table, why, and the commands that bring them.',
    load: async () => (await import('./days/missing.ts')).createMissingCommand(),
  },
  plan: {
    description:
      'Show what an export would do, how long it would take and what AWS would charge. Starts nothing.',
    load: async () => (await import('./run/plan.ts')).createPlanCommand(),
  },
  resume: {
    description:
      'Export the windows that an execution did not deliver, and follow the new execution until it ends.',
    load: async () => (await import('./executions/resume.ts')).createResumeCommand(),
  },
  rebuild: {
    description:
      "Rebuild an export's table from the files that were delivered, and bring all of its months to the table's columns. Days that show the same report or a newer one stay, so a command that was stopped can be repeated.",
    load: async () => (await import('./rebuild/rebuild.ts')).createRebuildCommand(),
  },
  query: {
    description: 'Run SQL on the tables of the exports: in Athena, or with --local on those of this machine.',
    load: async () => (await import('./query/query.ts')).createQueryCommand(),
  },
  status: {
    description:
      'Show of each export what runs, how the last run ended, the newest day, the missing days and the last failure.',
    load: async () => (await import('./days/status.ts')).createStatusCommand(),
  },
  page: {
    description:
      'Write one HTML file that shows the days of each export, what changed, sums over time, and what its columns mean.',
    load: async () => (await import('./page.ts')).createPageCommand(),
  },
  list: {
    description: 'Show the executions that are running and those that ran last, newest first.',
    load: async () => (await import('./executions/list.ts')).createListCommand(),
  },
  stop: {
    description: 'Stop an execution and its windows. What was delivered stays, and resume exports the rest.',
    load: async () => (await import('./executions/stop.ts')).createStopCommand(),
  },
  explain: {
    description:
      'Show why an execution failed, how long each of its windows took, and where to see its states.',
    load: async () => (await import('./executions/explain.ts')).createExplainCommand(),
  },
  login: {
    description: "Log in to the platform in a browser, and store the login in an account's credential.",
    load: async () => (await import('./accounts/login.ts')).createLoginCommand(),
  },
  doctor: {
    description: 'Check the credential, token, scopes and revision of an account, without creating a report.',
    load: async () => (await import('./accounts/doctor.ts')).createDoctorCommand(),
  },
  secret: {
    description: "Store an account's credential, which is read from standard input.",
    load: async () => (await import('./accounts/secret.ts')).createSecretCommand(),
  },
  fields: {
    description: 'Show the metrics and dimensions that are known, and what each column of the tables means.',
    load: async () => (await import('./fields.ts')).createFieldsCommand(),
  },
  sandbox: {
    description: "Serve the platform's API on 127.0.0.1 with invented data, until Ctrl-C.",
    load: async () => (await import('./sandbox.ts')).createSandboxCommand(),
  },
};

/** Old names of commands. They work until the next release but one. */
const OLD_NAMES: Readonly<Record<string, string>> = { curate: 'rebuild' };

/** Commands that need no deployed stack. */
const NO_STACK = ['fields', 'sandbox'];

/** Commands that change a deployed stack. They say first in which AWS account and Region it is. */
const WRITING = ['run', 'resume', 'stop', 'rebuild', 'secret', 'login'];

/** @param args `help run` is `run --help` */
async function createProgram(args: readonly string[]): Promise<Command> {
  const named = args[0] === 'help' ? args[1] : args[0];
  const program = new Command('npm run export --')
    .description("Export an advertising platform's reports to S3.")
    .version(JSON.parse(readFileSync(PACKAGE, 'utf8')).version)
    .addHelpText(
      'after',
      '\nExit status: 0 delivered or done, 1 failed, 2 bad usage or input, 3 not in the table (--strict), 130 after Ctrl-C or a stop.',
    )
    .exitOverride();
  for (const [name, { description, load }] of Object.entries(COMMANDS)) {
    const command = name === named ? await prepare(await load()) : new Command(name);
    program.addCommand(command.description(description).exitOverride());
  }
  return program;
}

async function prepare(command: Command): Promise<Command> {
  const [{ setTarget }, { checkLocalOnly, option }] = await Promise.all([
    import('../knowledge/deployment.ts'),
    import('./options.ts'),
  ]);
  if (!NO_STACK.includes(command.name())) command.addOption(option.stack()).addOption(option.region());
  return command.hook('preAction', () => {
    checkLocalOnly(command);
    const tell = (place: string) => printMessage(`Working on ${place}.`);
    setTarget(command.opts(), WRITING.includes(command.name()) ? tell : undefined);
  });
}

/** Prints an error, also as a JSON document with `--json`, and returns the exit status. */
function reportError(thrown: unknown): number {
  const error = explainStepError(thrown);
  const print = (message: string, document: object) => {
    if (message) printMessage(message);
    if (process.argv.includes('--json')) printDocument({ outcome: 'failed', ...document });
  };
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0; // --help, --version
    // Commander has already printed the message.
    print('', { error: 'InvalidInput', faults: [error.message.replace(/^error: /, '')] });
    return BAD_USAGE;
  }
  if (error instanceof UsageError) {
    print(error.message, { error: 'InvalidInput', faults: error.faults });
    return BAD_USAGE;
  }
  if (error instanceof CommandFailed) {
    print(error.message, { error: error.name, happened: error.happened, todo: error.todo });
    return FAILED;
  }
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return FAILED;
}

/**
 * An export continues when its output cannot be written. A closed pipe, as with `| head`, is not a failure. A full disk is,
 * because the result was lost.
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
    const args = process.argv.slice(2).map((arg, at) => (at === 0 ? (OLD_NAMES[arg] ?? arg) : arg));
    const program = await createProgram(args);
    // Commander answers `help` and an unknown command with all of its help, as if there was no command.
    const isUnknown = args[0] === 'help' && args[1] !== undefined && !Object.hasOwn(COMMANDS, args[1]);
    await program.parseAsync(isUnknown ? args.slice(1) : args, { from: 'user' });
  } catch (error) {
    process.exitCode = reportError(error);
  }
}
