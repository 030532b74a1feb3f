import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { type Catalog, createCatalog } from '../../../functions/aws/catalog.ts';
import { createObjectFiles, type ObjectFiles } from '../../../functions/aws/object-files.ts';
import { createObjectStore, type ObjectStore } from '../../../functions/aws/objects.ts';
import { MEMORY } from '../../cost.ts';
import { startGlue } from '../../local/glue.ts';
import { createRequestTables } from '../../local/request-tables.ts';
import { ACCOUNT, CREDENTIALS, startS3 } from '../../local/s3/server.ts';
import { OUTPUTS_FILE, readDeployedPlace, readOutput } from '../deployed.ts';
import { UsageError } from '../errors.ts';
import { loadConfig } from '../options.ts';
import type { Copy } from './copies.ts';

/** Where the files and the tables are, as CurateReport reaches them: with this person's AWS credentials, or on this machine. */
export interface Place extends AsyncDisposable {
  readonly files: ObjectFiles;
  readonly store: ObjectStore;
  readonly catalog: Catalog;
}

/** @throws UsageError if no stack with tables was deployed from here */
export async function openDeployedPlace(bucket: string): Promise<Place> {
  const GLUE_DATABASE = await readOutput('database');
  const { region, awsAccount } = await readDeployedPlace();
  if (GLUE_DATABASE === undefined || region === undefined || awsAccount === undefined)
    throw new UsageError([
      `${OUTPUTS_FILE} names no database: run 'npm run deploy', and do not switch tables off in cdk.json`,
    ]);
  process.env.AWS_REGION = region;
  return createPlace({ BUCKET: bucket, BUCKET_OWNER: awsAccount, GLUE_DATABASE });
}

/** In a folder, the request that was delivered last counts as the configured one, as in the run that delivered it. */
export async function openLocalPlace(out: string, copies: readonly Copy[]): Promise<Place> {
  await using started = new AsyncDisposableStack();
  const [{ bucket } = { bucket: '' }] = copies;
  const s3 = started.use(await startS3({ directory: out, buckets: [bucket] }));
  const glue = started.use(await startGlue({ directory: out }));
  const oldestFirst = copies.toSorted((one, other) => order(one) - order(other));
  const defineTable = createRequestTables({ glue, bucket, configured: loadConfig().exports });
  for (const { input, target } of oldestFirst) defineTable(input, target);
  Object.assign(process.env, {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    AWS_ENDPOINT_URL_S3: s3.endpoint,
    AWS_ENDPOINT_URL_GLUE: glue.endpoint,
  });
  const place = createPlace({ BUCKET: bucket, BUCKET_OWNER: ACCOUNT, GLUE_DATABASE: glue.database });
  const running = started.move();
  running.defer(() => place[Symbol.asyncDispose]());
  return { ...place, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

function order({ state }: Copy): number {
  return Date.parse(state.object.copied_at);
}

const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** The step's clients read the Region and the endpoints from the environment, as in Lambda. */
function createPlace(settings: { BUCKET: string; BUCKET_OWNER: string; GLUE_DATABASE: string }): Place {
  // The step works in the system's temporary folder. Another command must not share it.
  const scratch = mkdtempDisposableSync(join(tmpdir(), 'curate-'));
  process.env.TMPDIR = scratch.path;
  // DuckDB may take more than in the function, so that this command can read a file that was too much for it.
  const quarter = Math.floor(totalmem() / 1024 ** 2 / 4);
  process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE = String(Math.max(MEMORY.CurateReport, quarter));
  const remove = () => scratch.remove();
  // Ends the process as if nothing had handled the signal: DuckDB may be running, and an orderly exit would make it abort.
  const stop = (signal: NodeJS.Signals) => {
    try {
      remove();
    } finally {
      process.kill(process.pid, signal);
    }
  };
  process.once('exit', remove);
  for (const signal of STOP_SIGNALS) process.once(signal, stop);
  return {
    files: createObjectFiles(settings),
    store: createObjectStore(settings),
    catalog: createCatalog(settings),
    async [Symbol.asyncDispose]() {
      remove();
      process.off('exit', remove);
      for (const signal of STOP_SIGNALS) process.off(signal, stop);
    },
  };
}
