import { access, constants, readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { checkUrl } from '../../functions/platform/safe-hosts.ts';
import { parseCredential } from '../../functions/token/credential.ts';
import { CredentialUnusable, DownloadRefused } from '../../functions/workflow/errors.ts';
import { isCalendarDate } from '../../functions/workflow/request/dates.ts';
import type { RunOptions } from './run-options.ts';

/** What is wrong with the options that name a platform; nothing where none is named. */
export async function platformFaults(options: RunOptions): Promise<string[]> {
  const { baseUrl, revision, credential } = options;
  if (baseUrl === undefined) {
    const alone = { '--credential': credential, '--revision': revision };
    return Object.entries(alone).flatMap(([flag, value]) =>
      value === undefined ? [] : [`${flag} needs --base-url`],
    );
  }
  return [
    ...urlFaults(baseUrl),
    ...(revision === undefined ? ['--base-url needs --revision'] : []),
    ...(revision === undefined || isCalendarDate(revision)
      ? []
      : [`--revision ${revision} is not a date, YYYY-MM-DD`]),
    ...(credential === undefined ? ['--base-url needs --credential'] : await credentialFaults(credential)),
  ];
}

/** What is wrong with the platform's address. */
export function urlFaults(baseUrl: string): string[] {
  try {
    const { search, hash } = checkUrl(baseUrl, { allowLoopback: true });
    return search || hash ? ['--base-url must have neither a query nor a fragment'] : [];
  } catch (error) {
    if (error instanceof DownloadRefused) return [`--base-url: ${firstLine(error)}`];
    throw error;
  }
}

/** Why nothing can be written into a folder, which may have to be made first. */
export async function outFaults(out: string): Promise<string[]> {
  for (let path = resolve(out); ; path = dirname(path)) {
    try {
      if (!(await stat(path)).isDirectory()) return [`--out ${out}: ${path} is not a folder`];
      await access(path, constants.W_OK | constants.X_OK);
      return [];
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      // What is below a file is looked for in vain as well.
      if (!['ENOENT', 'ENOTDIR'].includes(code)) return [`--out ${out} cannot be written (${code})`];
    }
  }
}

/** What is wrong with a credential secret in a file; never a value. */
export async function credentialFaults(file: string): Promise<string[]> {
  try {
    parseCredential(await readFile(file, 'utf8'), 'of --credential');
    return [];
  } catch (error) {
    if (error instanceof CredentialUnusable)
      return (error.facts.faults as string[]).map((fault) => `--credential: ${fault}`);
    return [`--credential ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`];
  }
}

function firstLine({ message }: Error): string {
  return message.split('\n', 1)[0] ?? '';
}
