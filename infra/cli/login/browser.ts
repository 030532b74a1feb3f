import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Opens an address in the user's browser, without a shell, which would read the address.
 *
 * @returns why it could not be opened, if so
 */
export async function openBrowser(url: string, environment = process.env): Promise<string | undefined> {
  const [command, ...args] = opener(environment);
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
  try {
    await once(child, 'spawn');
    child.unref();
    return undefined;
  } catch (error) {
    return `${command}: ${(error as NodeJS.ErrnoException).code}`;
  }
}

/** `start` is of Windows' shell alone; what it calls is not. */
function opener({ BROWSER }: NodeJS.ProcessEnv): [string, ...string[]] {
  if (BROWSER) return [BROWSER];
  if (process.platform === 'darwin') return ['open'];
  return process.platform === 'win32' ? ['rundll32', 'url.dll,FileProtocolHandler'] : ['xdg-open'];
}
