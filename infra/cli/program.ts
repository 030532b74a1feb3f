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

/** Whoever was reading may be gone, as `| head` soon is: the export goes on, and the status says how it ended. */
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
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
