import { once } from 'node:events';
import { Command, InvalidArgumentError } from 'commander';
import { scaledClock } from '../../lab/local/clock.ts';
import { parseFault } from '../../lab/sandbox/faults.ts';
import { startSandbox } from '../../lab/sandbox/start-sandbox.ts';
import { commandFor } from '../days/next-command.ts';
import { UsageError } from '../place/errors.ts';
import { loadConfig } from '../place/load-config.ts';
import { catchInterrupt } from './interrupt.ts';
import { printDocument } from './layout.ts';
import { option, wholeNumber } from './options.ts';
import { keepClient, servingOptions } from './sandbox-settings.ts';

interface SandboxCommandOptions {
  readonly port: number;
  readonly speed: number;
  readonly json?: true;
  readonly credential?: string;
  readonly fault?: string[];
  readonly restatedDays?: number;
}

export function createCommand(): Command {
  return new Command('sandbox')
    .option('--port <n>', 'the port; 0 picks a free one', wholeNumber(0, 65_535), 0)
    .addOption(option.speed())
    .option('--credential <file>', "keep the client's credential in this file, for the next sandbox")
    .option('--fault <rule>', "such as 'report nth=2 status=500'; repeatable", collectFault)
    .option('--restated-days <n>', 'days grow until n days after their end', wholeNumber(0, 9_999))
    .option('--json', "print the client's settings as one line of JSON")
    .action(sandbox);
}

async function sandbox(options: SandboxCommandOptions): Promise<void> {
  const { port, speed, json, credential, restatedDays, fault = [] } = options;
  const clock = scaledClock(speed);
  const { exports } = loadConfig();
  using interrupt = catchInterrupt();
  await using platform = await startSandbox({
    ...servingOptions(speed, exports),
    port,
    report: restatedDays === undefined ? {} : { restated: { days: restatedDays } },
    ...(credential !== undefined && { credentials: [await keepClient(credential)] }),
    faults: fault,
    now: clock.now,
  }).catch((error: NodeJS.ErrnoException) => {
    throw error.syscall === 'listen' ? new UsageError([describePort(port, error)]) : error;
  });
  const { baseUrl: base_url, clientId: client_id, clientSecret: client_secret, revision } = platform;
  const settings = { base_url, client_id, client_secret, revision, advertiser_ids: platform.advertiserIds };
  const [{ name, account } = {}] = exports;
  const flags = { account, local: true, 'base-url': base_url, credential, revision };
  const isKept = credential !== undefined && name !== undefined;
  const lines = [
    ...Object.entries(settings).map(([name, value]) => `${name.padEnd(14)} ${[value].flat().join(' ')}`),
    ...(isKept ? [`To export from it: ${commandFor(['run', name], flags)}`] : []),
    'Press Ctrl-C to stop.',
  ];
  if (json) printDocument(settings);
  else process.stdout.write(`${lines.join('\n')}\n`);
  if (!interrupt.signal.aborted) await once(interrupt.signal, 'abort');
}

function describePort(port: number, { code }: NodeJS.ErrnoException): string {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'is used by another program',
    EACCES: 'is not for this user',
  };
  const reason = reasons[code ?? ''] ?? 'cannot be used';
  return `--port ${port} ${reason} (${code}): name another one, or leave it out for a free one`;
}

function collectFault(rule: string, earlier: string[] = []): string[] {
  try {
    parseFault(rule);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
  return [...earlier, rule];
}
