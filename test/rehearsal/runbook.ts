import type { PolicyName } from './observer/context.ts';

/** A line of the runbook that calls AWS. */
export interface RunbookCommand {
  readonly line: string;
  /** Such as `s3api copy-object`. */
  readonly call: string;
}

export interface Runbook {
  /** Sets the variables and functions that the commands use. */
  readonly setup: string;
  readonly commands: readonly RunbookCommand[];
}

/**
 * Reads the commands of the runbook that call AWS, as somebody would paste them: the lines of its blocks, and
 * its code within a sentence.
 *
 * @param markdown its text. The first two blocks are pasted before all others
 */
export function readRunbook(markdown: string): Runbook {
  const blocks = [...markdown.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block);
  const [setup = '', execution = '', ...others] = blocks;
  const text = markdown.replace(/```.*?```/gs, '');
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  const lines = [...others.flatMap((block) => block.replaceAll('\\\n', ' ').split('\n')), ...spans];
  const commands = lines.flatMap((line) => {
    const call =
      /^aws ([a-z0-9]+ [a-z][a-z-]+)/.exec(line)?.[1] ?? (/^logs ['"]/.test(line) ? 'logs' : undefined);
    return call === undefined ? [] : [{ line, call }];
  });
  const unique = commands.filter(
    ({ line }, index) => commands.findIndex((command) => command.line === line) === index,
  );
  return { setup: setup + execution, commands: unique };
}

/** The policy of whoever runs a call. Both may look. */
export const RUNBOOK_POLICIES: Readonly<Record<string, PolicyName>> = {
  's3 rm': 'keeper',
  's3api list-object-versions': 'keeper',
  's3api copy-object': 'keeper',
};

/**
 * Replaces a placeholder of the runbook, such as OBJECT, where it is a word of its own.
 *
 * @throws Error if the line has none of this name
 */
export function replacePlaceholder(line: string, placeholder: string, value: string): string {
  const pattern = new RegExp(`(?<![A-Za-z$_])${placeholder}(?![A-Za-z_])`, 'g');
  const replaced = line.replace(pattern, () => value);
  if (replaced === line) throw new Error(`The runbook's line has no ${placeholder}: ${line}`);
  return replaced;
}
