import { spawnSync } from 'node:child_process';
import { CREDENTIALS } from '../../../infra/local/s3/server.ts';
import { BUCKET, REGION } from './contenders/client.ts';

/** What people run in a shell instead. */
export interface ShellCommand {
  readonly what: string;
  /** Programs that have to be installed. */
  readonly needs: readonly string[];
  /** $URL is the file's. */
  readonly script: string;
}

export const commands: Readonly<Record<string, ShellCommand>> = {
  'curl-aws': {
    what: 'curl | aws s3 cp -',
    needs: ['curl', 'aws'],
    script: `curl -sSf "$URL" | aws s3 cp - s3://${BUCKET}/curl-aws --only-show-errors $TRUST`,
  },
  'curl-rclone': {
    what: 'curl | rclone rcat',
    needs: ['curl', 'rclone'],
    script: `curl -sSf "$URL" | rclone rcat -q bench:${BUCKET}/curl-rclone`,
  },
  'rclone-copyurl': {
    what: 'rclone copyurl',
    needs: ['rclone'],
    script: `rclone copyurl -q "$URL" bench:${BUCKET}/rclone-copyurl`,
  },
};

/** The programs that a contender needs and this machine has not. */
export function missing(name: string): string[] {
  const has = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
  return commands[name]?.needs.filter((program) => !has(program)) ?? [];
}

/**
 * An environment in which aws and rclone speak to the bench's S3 alone, whatever this machine's own configuration is.
 *
 * @param authority a PEM file, where the servers speak TLS
 */
export function environmentFor(endpoint: string, authority: string | undefined): NodeJS.ProcessEnv {
  const { accessKeyId, secretAccessKey } = CREDENTIALS;
  return {
    PATH: process.env.PATH,
    ...(authority && {
      TRUST: `--ca-bundle ${authority}`, // aws alone: rclone trips over AWS_CA_BUNDLE
      CURL_CA_BUNDLE: authority,
      SSL_CERT_FILE: authority,
    }),
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_REGION: REGION,
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    RCLONE_CONFIG: '/dev/null',
    RCLONE_CONFIG_BENCH_TYPE: 's3',
    RCLONE_CONFIG_BENCH_PROVIDER: 'Other',
    RCLONE_CONFIG_BENCH_ENDPOINT: endpoint,
    RCLONE_CONFIG_BENCH_ACCESS_KEY_ID: accessKeyId,
    RCLONE_CONFIG_BENCH_SECRET_ACCESS_KEY: secretAccessKey,
    RCLONE_CONFIG_BENCH_REGION: REGION,
    RCLONE_CONFIG_BENCH_NO_CHECK_BUCKET: 'true',
  };
}
