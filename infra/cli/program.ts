import { Command, CommanderError } from 'commander';
import { doctorCommand } from './doctor.ts';
import { loginCommand } from './login.ts';
import { resumeCommand } from './resume.ts';
import { runCommand } from './run.ts';
import { sandboxCommand } from './sandbox.ts';
import { BAD_USAGE, CommandFailed, FAILED, UsageError } from './usage.ts';

/** `npm run export -- <command>`. Exit status: 0 delivered, 1 failed, 2 bad usage or input. */
async function main(): Promise<void> {
  const program = new Command('export')
    .description("Exports an advertising platform's reports to S3.")
    .exitOverride()
    .configureHelp({ showGlobalOptions: true });
  const commands = [runCommand(), resumeCommand(), loginCommand(), doctorCommand(), sandboxCommand()];
  for (const command of commands) program.addCommand(command.exitOverride());
  await program.parseAsync();
}

/**
 * An export goes on though nobody reads what it prints, as with `| head`, and though it cannot be written, as on a full
 * disk; but the latter is no success, because the result was not said.
 */
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
process.stdout.once('error', ({ code }: NodeJS.ErrnoException) => {
  if (code === 'EPIPE') return;
  process.stderr.write(`error: the output cannot be written (${code})\n`);
  process.on('exit', () => {
    process.exitCode ||= FAILED;
  });
});

try {
  await main();
} catch (error) {
  if (error instanceof CommanderError) {
    // commander has said what is wrong; asking for help is no fault.
    process.exitCode = error.exitCode === 0 ? 0 : BAD_USAGE;
  } else if (error instanceof UsageError) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = BAD_USAGE;
  } else if (error instanceof CommandFailed) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = FAILED;
  } else {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = FAILED;
  }
}
