import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPackages } from '../checks/python.ts';
import type { Processes } from './processes.ts';

const REQUIREMENTS = fileURLToPath(new URL('cli-requirements.txt', import.meta.url));

type Environment = Readonly<Record<string, string | undefined>>;

export type AwsCli = ReturnType<typeof createAwsCli>;

/** Installs AWS's command line, in which the runbook's calls are written. */
export function createAwsCli({ folder, run }: Processes) {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const script = [
    '#!/bin/sh',
    // It does not look at the variable itself for SQS.
    'if [ "$AWS_ENDPOINT_URL" ]; then set -- --endpoint-url "$AWS_ENDPOINT_URL" "$@"; fi',
    `PYTHONPATH='${installPackages(REQUIREMENTS)}' exec python3 -m awscli "$@"`,
  ];
  writeFileSync(join(bin, 'aws'), script.join('\n'));
  chmodSync(join(bin, 'aws'), 0o755);
  const withPath = (env: Environment = {}): Environment => ({
    // Its first version, which pip installs, does not read AWS_REGION.
    AWS_DEFAULT_REGION: process.env.AWS_REGION,
    ...env,
    PATH: [bin, process.env.PATH].join(delimiter),
  });
  return {
    /** @returns the JSON that a call answers with; undefined if that is nothing */
    async call(args: readonly string[], env?: Environment) {
      const answer = await run('aws', [...args, '--output', 'json'], { env: withPath(env) });
      return answer.trim() === '' ? undefined : JSON.parse(answer);
    },
    /** Runs lines of Bash, in which `aws` is AWS's command line. @returns stdout */
    bash: (script: string, env?: Environment) =>
      run('bash', ['--norc', '-euo', 'pipefail', '-c', script], { env: withPath(env) }),
  };
}
