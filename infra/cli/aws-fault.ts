import { CommandFailed } from './usage.ts';

/**
 * What an AWS call of a command threw, by its name alone: an SDK error's message may quote what was sent.
 *
 * @param doing as in "read the secret x"
 * @param needs as in "secretsmanager:GetSecretValue"
 */
export function awsFault(error: unknown, doing: string, needs: string): CommandFailed {
  const { name } = error as Error;
  return new CommandFailed(
    `AWS could not ${doing} (${name}).`,
    `Check the AWS credentials and region in use, and that they may ${needs}.`,
  );
}
