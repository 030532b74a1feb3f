import { Command } from 'commander';
import { readDeployment } from '../../knowledge/deployment.ts';
import { refuse } from '../../knowledge/errors.ts';
import { INTERRUPTED } from '../exit-status.ts';
import { catchInterrupt } from '../interrupt.ts';
import { printLines } from '../layout.ts';
import { option, platformFaults } from '../options.ts';
import { type Account, type AccountOptions, accountFaults, createAccount, neededScopes } from './account.ts';
import { authorize } from './authorize.ts';

interface LoginOptions extends AccountOptions {
  readonly account: string;
  readonly scope?: string;
  readonly redirectUri?: string;
}

export function createCommand(): Command {
  return new Command('login')
    .requiredOption('--account <name>', 'the account')
    .option('--scope <scopes>', "the scopes to ask for, separated by spaces (default: its exports')")
    .option('--redirect-uri <url>', 'the registered redirect URI (default: an address on 127.0.0.1)')
    .option('--local', 'store the login in a credential file on this machine')
    .addOption(option.baseUrl())
    .addOption(option.credential())
    .action(login);
}

async function login(options: LoginOptions): Promise<void> {
  refuse(await findFaults(options));
  if (!options.local) await readDeployment();
  const { scope = neededScopes(options.account).join(' '), redirectUri } = options;
  await using account = await createAccount(options.account, options);
  using interrupt = catchInterrupt();
  const { signal } = interrupt;
  try {
    report(await authorize(account, { scope, redirectUri, input: process.stdin, showUrl, signal }), account);
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
    process.stderr.write('Stopped. Nothing was stored.\n');
    process.exitCode = INTERRUPTED;
  }
}

async function findFaults(options: LoginOptions): Promise<string[]> {
  const { account, local, redirectUri } = options;
  return [
    ...accountFaults(account, options),
    ...(local ? await platformFaults(options, '--local', ['baseUrl', 'credential']) : []),
    ...(redirectUri === undefined || URL.canParse(redirectUri) ? [] : ['--redirect-uri is not a URL']),
  ];
}

/** @param granted the scopes, which may be fewer than those that were asked for */
function report(granted: string | undefined, { name, place }: Account): void {
  printLines([
    `Account ${name} is logged in${granted === undefined ? '' : `. Granted: ${granted}`}.`,
    `The refresh token is in ${place}.`,
  ]);
}

function showUrl(url: string): void {
  const paste = 'After you allow access, the browser may show an error page. Paste its whole address here:';
  process.stdout.write(`Open this address in a browser:\n\n${url}\n\n${paste}\n`);
}
