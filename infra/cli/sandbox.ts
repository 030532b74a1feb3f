import { once } from 'node:events';
import { Command, InvalidArgumentError } from 'commander';
import { scaledClock } from '../local/clock.ts';
import { parseFault } from '../local/sandbox/faults/parse-fault.ts';
import { startSandbox } from '../local/sandbox/sandbox.ts';
import { parsePort, parseSpeed, UsageError } from './usage.ts';

interface Options {
  readonly port: number;
  readonly speed: number;
  readonly json?: true;
  readonly fault: string[];
}

/** The platform's contract as a server, to try a client against; Ctrl-C ends it. */
export function sandboxCommand(): Command {
  return new Command('sandbox')
    .description('Serves the platform on 127.0.0.1, with made-up data.')
    .option('--port <n>', 'port of the API; 0 lets the system choose', parsePort, 0)
    .option('--speed <n>', 'times faster than real time, 1 to 1000', parseSpeed, 1)
    .option('--fault <rule>', 'make it misbehave; may be repeated (see the README)', collectFault, [])
    .option('--json', 'print what a client needs as one line of JSON')
    .action(sandbox);
}

async function sandbox({ port, speed, json, fault }: Options): Promise<void> {
  const clock = scaledClock(speed);
  await using platform = await startSandbox({ port, faults: fault, now: clock.now }).catch(refusePort);
  const facts = {
    base_url: platform.baseUrl,
    client_id: platform.clientId,
    client_secret: platform.clientSecret,
    revision: platform.revision,
    advertiser_ids: platform.advertiserIds,
  };
  const lines = Object.entries(facts).map(
    ([name, value]) => `${name.padEnd(14)} ${[value].flat().join(' ')}`,
  );
  process.stdout.write(json ? `${JSON.stringify(facts)}\n` : `${lines.join('\n')}\nCtrl-C ends it.\n`);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
}

function collectFault(rule: string, previous: string[]): string[] {
  try {
    parseFault(rule);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
  return [...previous, rule];
}

function refusePort(error: NodeJS.ErrnoException): never {
  if (error.syscall !== 'listen') throw error;
  const why =
    error.code === 'EADDRINUSE' ? 'is in use by another program' : `cannot be listened on (${error.code})`;
  throw new UsageError([`--port ${why}`]);
}
