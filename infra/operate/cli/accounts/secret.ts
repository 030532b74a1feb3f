import { text } from 'node:stream/consumers';
import { Command } from 'commander';
import {
  type Credential,
  type CredentialStore,
  credentialWarnings,
  isOAuth,
  parseCredential,
  updateCredential,
} from '../../../../functions/token/credential.ts';
import { CredentialUnusable } from '../../../../functions/workflow/errors.ts';
import { commandFor } from '../../days/next-command.ts';
import { readDeployment, stackName } from '../../place/deployment.ts';
import { refuse, UsageError } from '../../place/errors.ts';
import { storeFaults } from '../../place/target-platform.ts';
import { printDocument, warn } from '../layout.ts';
import { examples, option } from '../options.ts';
import { accountNameFaults, createAccount } from './account.ts';

const USAGE = 'secret set ACCOUNT < credential.json';

export function createCommand(): Command {
  return (
    new Command('secret')
      .usage('set <account> [options]')
      // Not one of `choices`, whose error would quote a credential.
      .argument('[action]')
      .argument('[account]', 'an account in the config')
      // Commander's messages would quote a credential that was given as an argument.
      .allowExcessArguments()
      .allowUnknownOption()
      .addOption(option.json())
      .addHelpText('after', examples('secret set acme < credential.json'))
      .action(secret)
  );
}

async function secret(action = '', account = '', { json }: { json?: true }, command: Command): Promise<void> {
  refuse(argumentFaults(action, account, command.args));
  // A terminal would show what is typed.
  if (process.stdin.isTTY) throw new UsageError(['give the credential on standard input: < credential.json']);
  const content = (await text(process.stdin)).trim();
  if (content === '') throw new UsageError([`standard input is empty; give the credential: ${USAGE}`]);
  const stored = await storeCredential(account, content);
  const check = `Check it: ${commandFor(['doctor'], { account })}`;
  const login = stored.login_kept ? 'The login is kept.\n' : '';
  if (json) printDocument(stored);
  else process.stdout.write(`Stored in the secret ${stored.secret}.\n${login}${check}\n`);
}

/** Quotes an argument only if it can be no credential. */
function argumentFaults(action: string, account: string, args: readonly string[]): string[] {
  if (args.length > 2) {
    return [
      'a credential must not be an argument, because the shell keeps its history; give it on standard input. If it was one, replace it at the platform',
    ];
  }
  if (action !== 'set' || account === '') return [`the only action is: ${USAGE}`];
  return [...accountNameFaults(account, {}), ...storeFaults()];
}

/**
 * Checks a credential and stores it in Secrets Manager.
 *
 * @returns the document of --json, which names the fields of the credential, never a value
 * @throws UsageError with the names of the wrong fields
 */
async function storeCredential(account: string, content: string) {
  const credential = checkCredential(account, content);
  for (const warning of credentialWarnings(credential)) warn(warning);
  await readDeployment();
  await using opened = createAccount(account, {});
  const { store } = opened;
  // An execution may be replacing the refresh token of the secret.
  const login_kept = await opened.underLease(async () => {
    const isKept = await replaceClient(store, account, credential);
    if (!isKept) await store.write(content);
    return isKept;
  });
  const secret = `${stackName()}/${account}/credential`;
  return { outcome: 'stored', account, secret, fields: Object.keys(credential), login_kept };
}

function checkCredential(account: string, content: string): Credential {
  try {
    return parseCredential(content, account);
  } catch (error) {
    if (!(error instanceof CredentialUnusable)) throw error;
    const faults = error.facts.faults as string[];
    throw new UsageError(faults.map((fault) => `the credential: ${fault}`));
  }
}

/**
 * Changes the secret of a client that has logged in, and keeps the login: without its refresh token, a person
 * would have to log in again.
 *
 * @returns whether there was a login to keep; otherwise nothing was written
 */
async function replaceClient(store: CredentialStore, account: string, next: Credential): Promise<boolean> {
  if (!isOAuth(next) || next.refresh_token !== undefined) return false;
  const hasLogin = (stored: Credential) =>
    isOAuth(stored) && stored.client_id === next.client_id && stored.refresh_token !== undefined;
  const replace = (stored: Credential) => (hasLogin(stored) ? next : undefined);
  return updateCredential(store, account, replace).catch((error) => {
    if (error instanceof CredentialUnusable) return false;
    throw error;
  });
}
