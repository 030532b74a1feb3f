import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { setTarget } from './deployment.ts';
import { BAD_USAGE, CommandFailed, explainStepError, FAILED, UsageError } from './errors.ts';
import { printMessage } from './layout.ts';
import { checkLocalOnly, option } from './options.ts';

const PACKAGE = new URL('../../package.json', import.meta.url);

/** Only the command that runs is loaded: each AWS SDK client takes tens of milliseconds. */
export const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  run: async () => (await import('./run.ts')).createRunCommand(),
  missing: async () => (await import('./missing.ts')).createMissingCommand(),
  plan: async () => (await import('./plan.ts')).createPlanCommand(),
  resume: async () => (await import('./resume.ts')).createResumeCommand(),
  curate: async () => (await import('./curate/curate.ts')).createCurateCommand(),
  query: async () => (await import('./query/query.ts')).createQueryCommand(),
  status: async () => (await import('./status.ts')).createStatusCommand(),
  list: async () => (await import('./list.ts')).createListCommand(),
  stop: async () => (await import('./stop.ts')).createStopCommand(),
  explain: async () => (await import('./explain.ts')).createExplainCommand(),
  login: async () => (await import('./login/login.ts')).createLoginCommand(),
  doctor: async () => (await import('./doctor/doctor.ts')).createDoctorCommand(),
  secret: async () => (await import('./secret.ts')).createSecretCommand(),
  fields: async () => (await import('./fields.ts')).createFieldsCommand(),
  sandbox: async () => (await import('./sandbox.ts')).createSandboxCommand(),
};

/** Commands that need no deployed stack. */
const NO_STACK = ['fields', 'sandbox'];

async function createProgram(name: string | undefined): Promise<Command> {
  const program = new Command('npm run export --')
    .description("Export an advertising platform's reports to S3.")
    .version(JSON.parse(readFileSync(PACKAGE, 'utf8')).version)
    .addHelpText(
      'after',
      '\nExit status: 0 delivered or done, 1 failed, 2 bad usage or input, 130 after Ctrl-C.',
    )
    .exitOverride()
    .hook('preAction', (_, command) => {
      checkLocalOnly(command);
      setTarget(command.opts());
    });
  const named = Object.entries(COMMANDS).filter(([command]) => command === name);
  for (const [command, create] of named.length > 0 ? named : Object.entries(COMMANDS)) {
    const added = (await create()).exitOverride();
    if (!NO_STACK.includes(command)) added.addOption(option.stack()).addOption(option.region());
    program.addCommand(added);
  }
  return program;
}

/** Prints an error, also as a JSON document with `--json`, and returns the exit status. */
function reportError(thrown: unknown): number {
  const error = explainStepError(thrown);
  const print = (message: string, document: object) => {
    if (message) printMessage(message);
    if (process.argv.includes('--json'))
      process.stdout.write(`${JSON.stringify({ outcome: 'failed', ...document })}\n`);
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
    const program = await createProgram(process.argv[2]);
    await program.parseAsync();
  } catch (error) {
    process.exitCode = reportError(error);
  }
}
