import { Command } from 'commander';
import { openTarget, type Target, type TargetOptions, targetFaults } from './credential/target.ts';
import { openBrowser } from './login/browser.ts';
import { type LoggedIn, login } from './login/login.ts';
import { redirectUriFaults } from './login/redirect.ts';
import { CommandFailed, INTERRUPTED, UsageError } from './usage.ts';

/** All that reporting needs (contract 5.3). */
const SCOPE = 'reporting:read';

/** How long the consent screen may take: a person may have to look for a password. Minutes. */
const PATIENCE_MINUTES = 10;

interface Options extends TargetOptions {
  readonly account: string;
  readonly scope: string;
  readonly redirectUri?: string;
  readonly browser: boolean;
}

/** Lets a person consent in the browser, and stores the refresh token in the account's credential secret. */
export function loginCommand(): Command {
  return new Command('login')
    .description("Logs in to the platform in a browser, for an account's exports.")
    .requiredOption('--account <name>', 'the account whose credential gets the login')
    .option('--scope <scopes>', 'what to ask for, separated by spaces', SCOPE)
    .option('--redirect-uri <url>', 'the registered one (default: a free port on 127.0.0.1)')
    .option(
      '--no-browser',
      'print the address, and read the one that the browser ended at from standard input',
    )
    .option('--local', 'the credential is a file of this machine')
    .optionsGroup('With --local:')
    .option('--base-url <url>', 'the platform')
    .option('--credential <file>', 'the credential secret as a file: {"client_id","client_secret"}')
    .action(runLogin);
}

async function runLogin(options: Options): Promise<void> {
  await refuseFaults(options);
  const { scope, redirectUri, browser } = options;
  const paste = browser ? undefined : process.stdin;
  const visit = browser ? showAndOpen : showOnly;
  await using target = await openTarget(options.account, options);
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  process.once('SIGINT', interrupt);
  const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(PATIENCE_MINUTES * 60_000)]);
  try {
    report(await login(target, { scope, redirectUri, paste }, { visit, signal }), target, scope);
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
    if (!interrupted.signal.aborted) throw outOfPatience();
    process.stderr.write('Stopped. Nothing was stored.\n');
    process.exitCode = INTERRUPTED;
  } finally {
    process.removeListener('SIGINT', interrupt);
  }
}

function report({ scope, stored }: LoggedIn, { account, store }: Target, asked: string): void {
  const where = stored
    ? `The refresh token is in ${store.place}.`
    : `Another login ended after this one; its token stays in ${store.place}.`;
  process.stdout.write(
    `Account ${account} is logged in${scope === undefined ? '' : ` (${scope})`}.\n${where}\n`,
  );
  const granted = scope?.split(' ');
  const missing = granted ? asked.split(' ').filter((one) => !granted.includes(one)) : [];
  if (missing.length > 0) process.stderr.write(`warning: not granted: ${missing.join(' ')}\n`);
}

function outOfPatience(): CommandFailed {
  return new CommandFailed(
    `No redirect came within ${PATIENCE_MINUTES} minutes. Nothing was stored.`,
    'Log in again. Where the browser is on another machine, use --no-browser.',
  );
}

async function refuseFaults(options: Options): Promise<void> {
  const { account, scope, redirectUri, browser } = options;
  const faults = [
    ...(await targetFaults(account, options)),
    ...(redirectUri === undefined ? [] : redirectUriFaults(redirectUri, { listen: browser })),
    // RFC 6749 3.3: what a scope may be made of.
    ...(/^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(scope)
      ? []
      : ['--scope must be scopes separated by single spaces']),
  ];
  if (faults.length > 0) throw new UsageError(faults);
}

async function showAndOpen(url: string): Promise<void> {
  process.stdout.write(`Opening the browser. If it does not open, go to:\n\n${url}\n\n`);
  const fault = await openBrowser(url);
  if (fault) process.stderr.write(`No browser could be opened (${fault}): open the address yourself.\n`);
}

async function showOnly(url: string): Promise<void> {
  process.stdout.write(
    `Go to:\n\n${url}\n\nThe browser ends at an address that may not open. Paste it here, whole:\n`,
  );
}
