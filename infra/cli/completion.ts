import { fileURLToPath } from 'node:url';
import { Argument, Command, type Option } from 'commander';
import { examples } from './options.ts';

/** The command that the script defines. A shell cannot complete the words after `npm run export --`. */
const COMMAND = 'ad-report-export';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));

const SHELLS = { bash: writeBash, zsh: writeZsh, fish: writeFish } as const;

/** @param load returns all commands */
export function createCompletionCommand(load: () => Promise<readonly Command[]>): Command {
  return new Command('completion')
    .description(
      `Print a script that defines ${COMMAND}, which stands for 'npm run export --' in this folder, and completes its words.`,
    )
    .addArgument(new Argument('<shell>').choices(Object.keys(SHELLS)))
    .addHelpText('after', examples('completion bash', 'completion zsh', 'completion fish'))
    .addHelpText(
      'after',
      [
        '\nTo use it, add a line to ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish:',
        `  eval "$(npm run -s --prefix '${process.cwd()}' export -- completion bash)"`,
        `  npm run -s --prefix '${process.cwd()}' export -- completion fish | source`,
      ].join('\n'),
    )
    .action(async (shell: keyof typeof SHELLS) => {
      process.stdout.write(`${SHELLS[shell](await load()).join('\n')}\n`);
    });
}

function optionsOf(command: Command): readonly Option[] {
  return command.options.filter(({ long, hidden }) => long && !hidden);
}

function choicesOf(command: Command): string[] {
  return command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
}

function wordsOf(command: Command): string {
  return [...choicesOf(command), ...optionsOf(command).map(({ long }) => long), '--help'].join(' ');
}

function writeBash(commands: readonly Command[]): string[] {
  return [
    `${COMMAND}() { ${quote(process.execPath)} ${quote(MAIN)} "$@"; }`,
    '_ad_report_export() {',
    '  local known=',
    `  case "$COMP_CWORD:\${COMP_WORDS[1]}" in`,
    `    1:*) known=${quote(commands.map((command) => command.name()).join(' '))} ;;`,
    ...commands.map((command) => `    *:${command.name()}) known=${quote(wordsOf(command))} ;;`),
    '  esac',
    `  COMPREPLY=($(compgen -W "$known" -- "\${COMP_WORDS[COMP_CWORD]}"))`,
    '}',
    // Without a match, the shell completes the names of files.
    `complete -o default -F _ad_report_export ${COMMAND}`,
  ];
}

function writeZsh(commands: readonly Command[]): string[] {
  return ['autoload -Uz bashcompinit && bashcompinit', ...writeBash(commands)];
}

function writeFish(commands: readonly Command[]): string[] {
  const complete = (condition: string, rest: string) =>
    `complete -c ${COMMAND} -n ${quote(condition)} ${rest}`;
  return [
    `function ${COMMAND}; ${quote(process.execPath)} ${quote(MAIN)} $argv; end`,
    ...commands.flatMap((command) => {
      const isSeen = `__fish_seen_subcommand_from ${command.name()}`;
      return [
        complete('__fish_use_subcommand', `-f -a ${command.name()} -d ${quote(command.description())}`),
        ...choicesOf(command).map((choice) => complete(isSeen, `-f -a ${choice}`)),
        ...optionsOf(command).map(({ long = '', required, description }) =>
          complete(isSeen, `${required ? '-r ' : ''}-l ${long.slice(2)} -d ${quote(description)}`),
        ),
      ];
    }),
  ];
}

/** In all three shells, a quoted text ends at the next quote; a quote itself stands outside. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
