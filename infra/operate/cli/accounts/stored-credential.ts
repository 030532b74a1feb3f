import { readFile, realpath } from 'node:fs/promises';
import { createSecrets } from '../../../../functions/aws/secrets.ts';
import { type CredentialStore, createCredentialStore } from '../../../../functions/token/credential.ts';
import { underLease } from '../../../../functions/token/lease.ts';
import type { Log } from '../../../../functions/workflow/step.ts';
import { replaceFile } from '../../../lab/local/secrets-manager.ts';
import { SANDBOX } from '../../../stack/config/sandbox-config.ts';
import { commandFor } from '../../days/next-command.ts';
import { openBucket } from '../../place/bucket.ts';
import { stackName, targetRegion } from '../../place/deployment.ts';
import { CommandFailed } from '../../place/errors.ts';
import { loadConfig } from '../../place/load-config.ts';

/** A command prints the result of a refresh and not how it went. */
export const SILENT: Log = { info() {}, warn() {}, error() {}, keep() {} };

/** The credential of an account. Do not print what is read from it. */
export interface StoredCredential {
  readonly store: CredentialStore;
  /** Uses or stores the refresh token while no execution renews a token of the account. */
  readonly underLease: <T>(act: () => Promise<T>) => Promise<T>;
  /** The name of the secret or the file, for messages. */
  readonly place: string;
  /** The next step if it is missing or cannot be used. */
  readonly todo: string;
}

/** The stack of a sandbox makes the secret of its account, with a value that nobody has to know. */
const DEPLOY_SANDBOX =
  'The stack of the sandbox makes this secret. Deploy both stacks again with the -c of their deployment, such as: ' +
  'cdk deploy --all -c sandbox=true. If somebody deleted the secret, destroy both stacks first.';

export function openSecret(account: string): StoredCredential {
  const stack = stackName();
  return {
    store: createCredentialStore(createSecrets(targetRegion()), stack, account),
    async underLease(act) {
      await using objects = await openBucket({ out: '' });
      const access = { objects, now: () => new Date(), log: SILENT, asksAnyway: true };
      return underLease(account, access, act);
    },
    place: `the secret ${stack}/${account}/credential`,
    todo:
      loadConfig().base_url === SANDBOX
        ? DEPLOY_SANDBOX
        : `Store {"client_id","client_secret"}: ${commandFor(['secret', 'set', account])} < credential.json`,
  };
}

/** A file that only its owner may read. Every write replaces the whole file. */
export function openFile(file: string): StoredCredential {
  const read = async () => {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new CommandFailed(`${file} cannot be read (${error.code}).`, 'Give another --credential.');
    });
    return { text, version: '' };
  };
  return {
    store: { read, write: async (text) => replaceFile(await realpath(file), text) },
    underLease: (act) => act(),
    place: file,
    todo: `Write {"client_id","client_secret"} to ${file}.`,
  };
}
