import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { SandboxOptions } from '../../infra/lab/sandbox/sandbox-options.ts';
import { CONFIG, createCheckout } from './checkout.ts';
import { type CommandEnd, runCommand, startCommand } from './cli.ts';
import { type CommandRun, startCommandRun } from './command-run.ts';
import { callsTo } from './journal.ts';

export const WEEK = { start_date: '2025-10-01', end_date: '2025-10-08' };
export const NEXT_WEEK = { start_date: '2025-10-08', end_date: '2025-10-15' };
export const BOTH_WEEKS = { ...WEEK, end_date: NEXT_WEEK.end_date };

/** A folder of local runs, and the platform that they export from. */
export interface Folder extends CommandRun {
  /** True if reports become READY. */
  readonly platform: { isReady: boolean };
  /** `--local` and `--out`. */
  readonly place: readonly string[];
  /** Runs the CLI. Default: the CLI of this checkout. */
  cli: (args: readonly string[]) => Promise<CommandEnd>;
  /** Writes the request of the next run. */
  request(fields?: object): Promise<void>;
  /** Exports {@link WEEK}, or what the fields of the request say. */
  run(fields?: object, more?: readonly string[]): Promise<void>;
  /** The paths in --out of the files whose names contain a text. */
  keys(part: string): Promise<string[]>;
  /** The request of the next run. */
  lastRequest(): Promise<Record<string, unknown>>;
  /** Writes another request, whatever the first one is. */
  write(request: object): Promise<void>;
  /** Removes the objects whose keys contain a text. */
  remove(part: string): Promise<void>;
}

export async function openFolder(
  fields: object = WEEK,
  credentials?: SandboxOptions['credentials'],
): Promise<Folder> {
  const platform = { isReady: true };
  const secondsToReady = () => (platform.isReady ? 1 : 86_400);
  const command = await startCommandRun(
    { ...WEEK, ...fields },
    {
      report: { secondsToReady },
      tokenSeconds: 86_400,
      ...(credentials && { credentials }),
    },
  );
  const { args, out } = command;
  const input = inputOf(command);
  const first = JSON.parse(await readFile(input, 'utf8'));
  const request = (fields = {}) => writeFile(input, JSON.stringify({ ...first, ...fields }));
  return {
    ...command,
    platform,
    place: ['--local', '--out', out],
    cli: runCommand,
    request,
    async run(fields = {}, more = []) {
      await request(fields);
      const { status, stderr } = await runCommand([...args, ...more]);
      expect(status, stderr).toBe(0);
    },
    keys: async (part) => {
      const paths = await readdir(out, { recursive: true });
      return paths.filter((path) => path.includes(part) && !path.includes('.meta'));
    },
    lastRequest: async () => JSON.parse(await readFile(input, 'utf8')),
    write: (other) => writeFile(input, JSON.stringify(other)),
    async remove(part) {
      const paths = await readdir(out, { recursive: true });
      for (const path of paths.filter((stored) => stored.includes(part)))
        await rm(join(out, path), { recursive: true, force: true });
    },
  };
}

/** The file of the last run's request. */
export function inputOf({ args }: Pick<CommandRun, 'args'>): string {
  return args[args.indexOf('--input') + 1] ?? '';
}

/** A command that was printed, as a shell splits it. */
export function split(command: string): string[] {
  expect(command).not.toContain("'");
  return command.trim().split(' ').slice(4);
}

/** Pastes a printed command. Only what exports gets more: the test's clock. */
export async function paste({ args, cli }: Folder, command: string): Promise<void> {
  const words = split(command);
  const speed = args.slice(args.indexOf('--speed')).slice(0, 2);
  const exports = words[0] === 'run' || words[0] === 'resume';
  const { status, stderr } = await cli([...words, ...(exports ? speed : [])]);
  expect(status, stderr).toBe(0);
}

export async function json<T>({ cli }: Folder, args: readonly string[]): Promise<T> {
  const { status, stdout, stderr } = await cli([...args, '--json']);
  expect(status, stderr).toBe(0);
  return JSON.parse(stdout);
}

/** The commands that `missing` prints. */
export async function printed({ cli, place }: Folder): Promise<string[]> {
  const { stdout } = await cli(['missing', 'daily', ...place]);
  return stdout.split('\n').filter((line) => line.startsWith('  npm '));
}

/** Begins a run of these days, and kills it before a report is READY. */
export async function killRun({ request, args, sandbox, platform }: Folder, fields: object): Promise<void> {
  platform.isReady = false;
  await request(fields);
  const before = callsTo(sandbox, 'report').length;
  const { child, ended } = startCommand(args);
  await expect.poll(() => callsTo(sandbox, 'report').length).toBeGreaterThan(before + 3);
  child.kill('SIGKILL');
  await ended;
  platform.isReady = true;
}

/** Puts the last request with these fields into the config, as an export. The CLI is then a checkout's. */
export async function configure(folder: Folder, fields: object): Promise<void> {
  const { account, ...entry } = { ...(await lastRequest(folder)), ...fields } as { account: string };
  const config = { ...CONFIG, accounts: { [account]: {} }, exports: [entry] };
  const checkout = await createCheckout();
  folder.cli = (args) => checkout.run(config, args);
  // Only an export says what its columns are.
  await folder.request({ account, ...entry, columns: undefined });
}

export async function lastRequest(folder: Folder): Promise<object> {
  return JSON.parse(await readFile(inputOf(folder), 'utf8'));
}
