/** The command that exports what a deployed execution did not deliver. @param stateMachine the ARN in --state-machine, if given */
export function resumeCommand(execution: string, stateMachine?: string): string {
  const named = stateMachine === undefined ? [] : ['--state-machine', stateMachine];
  return commandLine(['resume', execution, ...named]);
}

/** The command that shows how an execution is doing that goes on without this process. */
export function explainCommand(execution: string): string {
  return commandLine(['explain', execution]);
}

/** This process's own command line. @param onlyMissing for the windows that are missing */
export function repeatCommand(
  { onlyMissing }: { onlyMissing: boolean },
  args = process.argv.slice(2),
): string {
  const others = args.filter((arg) => arg !== ONLY_MISSING);
  return commandLine(onlyMissing ? [...others, ONLY_MISSING] : args);
}

const ONLY_MISSING = '--only-missing';

/** `npm start` is `run --local`. */
function commandLine(args: readonly string[]): string {
  const isStart = args[0] === 'run' && args[1] === '--local';
  const words = isStart
    ? ['npm start --', ...args.slice(2).map(quote)]
    : ['npm run export --', ...args.map(quote)];
  return words.join(' ');
}

/** Quotes an argument for a POSIX shell, if it needs quotes. */
function quote(arg: string): string {
  return /^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`;
}
