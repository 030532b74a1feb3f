import { Command } from 'commander';
import { REPORTING } from '../../../functions/token/scope.ts';
import { readDeployment } from '../../knowledge/deployment.ts';
import { UsageError } from '../../knowledge/errors.ts';
import { INTERRUPTED } from '../exit-status.ts';
import { catchInterrupt } from '../interrupt.ts';
import { printLines } from '../layout.ts';
import { option, platformFaults } from '../options.ts';
import { type Account, type AccountOptions, accountFaults, createAccount } from './account.ts';
import { authorize } from './authorize.ts';

const LOOPBACK = ['127.0.0.1', '[::1]', 'localhost'];

interface LoginOptions extends AccountOptions {
  readonly account: string;
  readonly scope: string;
  readonly redirectUri?: string;
  readonly browser: boolean;
}

export function createLoginCommand(): Command {
  return new Command('login')
    .requiredOption('--account <name>', 'the account')
    .option('--scope <scopes>', 'the scopes to ask for, separated by spaces', REPORTING)
    .option('--redirect-uri <url>', 'the registered redirect URI (default: a free port on 127.0.0.1)')
    .option(
      '--no-browser',
      'the browser is on another machine: read the redirected address from standard input',
    )
    .option('--local', 'store the login in a credential file on this machine')
    .addOption(option.baseUrl())
    .addOption(option.credential())
    .action(login);
}

async function login(options: LoginOptions): Promise<void> {
  const faults = await findFaults(options);
  if (faults.length > 0) throw new UsageError(faults);
  if (!options.local) await readDeployment();
  const { scope, redirectUri, browser } = options;
  const paste = browser ? undefined : process.stdin;
  await using account = await createAccount(options.account, options);
  using interrupt = catchInterrupt();
  const { signal } = interrupt;
  try {
    const show = (url: string) => showUrl(url, browser);
    report(await authorize(account, { scope, redirectUri, paste, showUrl: show, signal }), account);
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
    process.stderr.write('Stopped. Nothing was stored.\n');
    process.exitCode = INTERRUPTED;
  }
}

async function findFaults(options: LoginOptions): Promise<string[]> {
  const { account, local, redirectUri, browser } = options;
  return [
    ...accountFaults(account, options),
    ...(local ? await platformFaults(options, '--local', ['baseUrl', 'credential']) : []),
    ...(redirectUri === undefined ? [] : redirectUriFaults(redirectUri, { listen: browser })),
  ];
}

/** @param listen false if the redirect is pasted */
function redirectUriFaults(text: string, { listen }: { listen: boolean }): string[] {
  if (!URL.canParse(text)) return ['--redirect-uri is not a URL'];
  const { protocol, hostname, port } = new URL(text);
  if (!listen || (protocol === 'http:' && LOOPBACK.includes(hostname) && port !== '0')) return [];
  return [
    '--redirect-uri must be http and a port on 127.0.0.1, [::1] or localhost, unless --no-browser is given',
  ];
}

/** @param granted the scopes, which may be fewer than those that were asked for */
function report(granted: string | undefined, { name, place }: Account): void {
  printLines([
    `Account ${name} is logged in${granted === undefined ? '' : `. Granted: ${granted}`}.`,
    `The refresh token is in ${place}.`,
  ]);
}

/** @param browser false if the redirect is pasted */
function showUrl(url: string, browser: boolean): void {
  const paste = 'After you allow access, the browser may show an error page. Paste its whole address here:\n';
  process.stdout.write(`Open this address in a browser:\n\n${url}\n\n${browser ? '' : paste}`);
}
