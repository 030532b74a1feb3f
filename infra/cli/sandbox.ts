import { once } from 'node:events';
import { Command, InvalidArgumentError, Option } from 'commander';
import { scaledClock } from '../local/clock.ts';
import { parseFault } from '../sandbox/faults/parse-fault.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import { UsageError } from './errors.ts';
import { option } from './options.ts';

interface SandboxCommandOptions {
  readonly port: number;
  readonly speed: number;
  readonly json?: true;
  readonly fault?: string[];
}

export function createSandboxCommand(): Command {
  return new Command('sandbox')
    .description("Serve the platform's API on 127.0.0.1 with invented data, until Ctrl-C.")
    .addOption(new Option('--port <n>', 'the port; 0 picks a free one').argParser(parsePort).default(0))
    .addOption(option.speed())
    .option(
      '--fault <rule>',
      "an injected fault, such as 'report nth=2 status=500'; repeatable",
      collectFault,
    )
    .option('--json', "print the client's settings as one line of JSON")
    .action(sandbox);
}

async function sandbox({ port, speed, json, fault = [] }: SandboxCommandOptions): Promise<void> {
  const clock = scaledClock(speed);
  await using platform = await startSandbox({ port, faults: fault, now: clock.now }).catch(refusePort);
  const settings = {
    base_url: platform.baseUrl,
    client_id: platform.clientId,
    client_secret: platform.clientSecret,
    revision: platform.revision,
    advertiser_ids: platform.advertiserIds,
  };
  const lines = Object.entries(settings).map(
    ([name, value]) => `${name.padEnd(14)} ${[value].flat().join(' ')}`,
  );
  process.stdout.write(
    json ? `${JSON.stringify(settings)}\n` : `${lines.join('\n')}\nPress Ctrl-C to stop.\n`,
  );
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('It must be a number from 0 to 65535.');
  return port;
}

function collectFault(rule: string, earlier: string[] = []): string[] {
  try {
    parseFault(rule);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
  return [...earlier, rule];
}

function refusePort(error: NodeJS.ErrnoException): never {
  if (error.syscall !== 'listen') throw error;
  const why = error.code === 'EADDRINUSE' ? 'is in use by another program' : `cannot be used (${error.code})`;
  throw new UsageError([`--port ${why}`]);
}
