import { CommandFailed } from '../usage.ts';
import type { State } from './state.ts';

/** What a redirect says is shown on a terminal: no more than this of it. */
const SHOWN_CHARACTERS = 300;

const LOOPBACK = ['127.0.0.1', '[::1]', 'localhost'];

/**
 * What is wrong with a redirect URI as the option gives it.
 *
 * @param options.listen whether the redirect is to be received here, and not pasted
 */
export function redirectUriFaults(text: string, { listen }: { listen: boolean }): string[] {
  if (!URL.canParse(text)) return ['--redirect-uri is not a URL'];
  const uri = new URL(text);
  const faults: string[] = [];
  if (uri.search || uri.hash || /[?#]/.test(text)) faults.push('must have neither a query nor a fragment');
  if (uri.username || uri.password) faults.push('must have no user or password in it');
  if (uri.protocol !== 'http:' && uri.protocol !== 'https:') faults.push('must be http or https');
  if (listen && !(uri.protocol === 'http:' && LOOPBACK.includes(uri.hostname))) {
    faults.push('must be http on 127.0.0.1, [::1] or localhost, or be used with --no-browser');
  }
  if (listen && uri.port === '0') faults.push('must name the port');
  return faults.map((fault) => `--redirect-uri ${fault}`);
}

/** Whether an address is the redirect URI: scheme, host, port and path, each exactly. */
export function isRedirectTo(received: URL, redirectUri: URL): boolean {
  return received.origin === redirectUri.origin && received.pathname === redirectUri.pathname;
}

/**
 * The code in a redirect (contract 4.2). The state is checked before anything else is believed.
 *
 * @throws CommandFailed for a wrong, missing or spent state, an error of the platform's, or no code
 */
export function readCode({ searchParams }: URL, state: State): string {
  const states = searchParams.getAll('state');
  // Two of them are not this login's either.
  if (!state.spend(states.join('\n'))) throw forged(states.length === 0);
  const error = searchParams.get('error');
  if (error !== null) throw refused(error, searchParams.get('error_description'));
  const [code, ...others] = searchParams.getAll('code');
  if (code && others.length === 0) return code;
  throw new CommandFailed('The redirect carried neither one code nor an error.', 'Log in again.');
}

function forged(missing: boolean): CommandFailed {
  return new CommandFailed(
    `The redirect ${missing ? 'carried no state' : 'carried a state that is not that of this login'}: it was refused.`,
    'Log in again. If this comes back, another page or program is sending redirects to this one.',
  );
}

function refused(error: string, description: string | null): CommandFailed {
  if (error === 'access_denied') {
    return new CommandFailed('Access was denied in the browser.', 'Log in again and allow it.');
  }
  const told = description ? ` (${shown(description)})` : '';
  return new CommandFailed(
    `The platform refused the request for consent: ${shown(error)}${told}.`,
    'Check the scope and the redirect URI that are registered for this client.',
  );
}

/** It came from outside: no control characters that a terminal would obey. */
function shown(text: string): string {
  return text.replace(/\p{C}+/gu, ' ').slice(0, SHOWN_CHARACTERS);
}
