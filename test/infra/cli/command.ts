import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../infra/cli/main.ts', import.meta.url));

/** A command as a process of its own, as `npm run export --` starts it. */
export function startCommand(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { ...process.env, ...environment } });
  const printed = Promise.all([text(child.stdout), text(child.stderr)]);
  const ended = once(child, 'close').then(async ([status, signal]) => {
    const [stdout, stderr] = await printed;
    return { status: status as number | null, signal: signal as string | null, stdout, stderr };
  });
  return { child, ended };
}

/** The consent URL that `login` prints, as soon as it does. */
export async function consentUrlOf({ child, ended }: ReturnType<typeof startCommand>): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let printed = '';
  child.stdout.on('data', (piece) => {
    printed += piece;
    const url = printed.match(/^(http\S+)\n/m)?.[1];
    if (url) resolve(url);
  });
  ended.then(({ stderr }) => reject(new Error(`It ended without a URL: ${stderr}`)), reject);
  return promise;
}
