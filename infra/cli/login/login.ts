import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Command } from 'commander';
import { REPORTING } from '../../../functions/token/scope.ts';
import { type Account, type AccountOptions, accountFaults, createAccount } from '../account.ts';
import { CommandFailed, INTERRUPTED, UsageError } from '../errors.ts';
import { warn } from '../layout.ts';
import { LOCAL_GROUP, localOnlyFaults, option, platformFaults } from '../options.ts';
import { type Authorized, authorize } from './authorize.ts';

/** The user may have to look for a password before consenting. */
const CONSENT_TIMEOUT_MINUTES = 10;

const LOOPBACK = ['127.0.0.1', '[::1]', 'localhost'];

interface LoginOptions extends AccountOptions {
  readonly account: string;
  readonly scope: string;
  readonly redirectUri?: string;
  readonly browser: boolean;
}

export function createLoginCommand(): Command {
  return new Command('login')
    .description("Log in to the platform in a browser, and store the login in an account's credential.")
    .requiredOption('--account <name>', 'the account')
    .option('--scope <scopes>', 'the scopes to ask for, separated by spaces', REPORTING)
    .option('--redirect-uri <url>', 'the registered redirect URI (default: a free port on 127.0.0.1)')
    .option('--no-browser', 'print the address to open, and read the redirected address from standard input')
    .option('--local', 'store the login in a credential file on this machine')
    .optionsGroup(LOCAL_GROUP)
    .addOption(option.baseUrl())
    .addOption(option.credential())
    .action(login);
}

async function login(options: LoginOptions, command: Command): Promise<void> {
  const faults = await findFaults(options, command);
  if (faults.length > 0) throw new UsageError(faults);
  const { scope, redirectUri, browser } = options;
  const [paste, showUrl] = browser ? [undefined, openUrl] : [process.stdin, printUrl];
  await using account = await createAccount(options.account, options);
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  process.once('SIGINT', interrupt);
  const timeout = AbortSignal.timeout(CONSENT_TIMEOUT_MINUTES * 60_000);
  const signal = AbortSignal.any([interrupted.signal, timeout]);
  try {
    report(await authorize(account, { scope, redirectUri, paste, showUrl, signal }), account, scope);
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
    if (!interrupted.signal.aborted) throw createTimeoutFailure();
    process.stderr.write('Stopped. Nothing was stored.\n');
    process.exitCode = INTERRUPTED;
  } finally {
    process.removeListener('SIGINT', interrupt);
  }
}

async function findFaults(options: LoginOptions, command: Command): Promise<string[]> {
  const { account, local, scope, redirectUri, browser } = options;
  return [
    ...localOnlyFaults(command),
    ...accountFaults(account, options),
    ...(local ? await platformFaults(options, '--local', ['baseUrl', 'credential']) : []),
    ...(redirectUri === undefined ? [] : redirectUriFaults(redirectUri, { listen: browser })),
    // RFC 6749 section 3.3: the characters of a scope.
    ...(/^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(scope)
      ? []
      : ['--scope must be scopes separated by single spaces']),
  ];
}

/** @param listen false if the redirect is pasted */
function redirectUriFaults(text: string, { listen }: { listen: boolean }): string[] {
  if (!URL.canParse(text)) return ['--redirect-uri is not a URL'];
  const uri = new URL(text);
  const faults: string[] = [];
  if (/[?#]/.test(text)) faults.push('must have neither a query nor a fragment');
  if (uri.username || uri.password) faults.push('must contain no user or password');
  if (uri.protocol !== 'http:' && uri.protocol !== 'https:') faults.push('must be http or https');
  if (listen && !(uri.protocol === 'http:' && LOOPBACK.includes(uri.hostname)))
    faults.push('must be http on 127.0.0.1, [::1] or localhost, or be used with --no-browser');
  if (listen && uri.port === '0') faults.push('must name the port');
  return faults.map((fault) => `--redirect-uri ${fault}`);
}

function report({ scope, isStored }: Authorized, { name, place }: Account, asked: string): void {
  const where = isStored
    ? `The refresh token is in ${place}.`
    : `Another login ended after this one; its token stays in ${place}.`;
  process.stdout.write(
    `Account ${name} is logged in${scope === undefined ? '' : ` (${scope})`}.\n${where}\n`,
  );
  const granted = scope?.split(' ');
  const missing = granted ? asked.split(' ').filter((one) => !granted.includes(one)) : [];
  if (missing.length > 0) warn(`not granted: ${missing.join(' ')}`);
}

function createTimeoutFailure(): CommandFailed {
  return new CommandFailed(
    `The browser was not redirected within ${CONSENT_TIMEOUT_MINUTES} minutes. Nothing was stored.`,
    'Log in again. If the browser is on another machine, use --no-browser.',
  );
}

async function printUrl(url: string): Promise<void> {
  process.stdout.write(
    `Open this address in a browser:\n\n${url}\n\nAfter you allow access, the browser may show an error page. Paste its whole address here:\n`,
  );
}

/** Opens the URL in the user's browser, without a shell, which would interpret the URL. */
async function openUrl(url: string): Promise<void> {
  process.stdout.write(`Opening the browser. If it does not open, open this address:\n\n${url}\n\n`);
  const [command, ...args] = findOpener();
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
  try {
    await once(child, 'spawn');
    child.unref();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    process.stderr.write(
      `The browser could not be opened (${command}: ${code}). Open the address yourself.\n`,
    );
  }
}

function findOpener(): [string, ...string[]] {
  if (process.env.BROWSER) return [process.env.BROWSER];
  if (process.platform === 'darwin') return ['open'];
  // `start` exists only in Windows' shell; rundll32 is a program.
  return process.platform === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler'] : ['xdg-open'];
}
