import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import prettyBytes from 'pretty-bytes';
import { parseJson } from '../../../functions/workflow/json.ts';
import { objectKey } from '../../../functions/workflow/keys.ts';
import type { ExportRequest } from '../../../functions/workflow/request/request.ts';
import { catalogName, TABLES_PREFIX, tableOf } from '../../../functions/workflow/table.ts';
import { nameFaults } from '../../config/export-faults.ts';
import { tableSource, withColumns } from '../../config/exports.ts';
import { type Clock, scaledClock } from '../../local/clock.ts';
import { startLocal } from '../../local/run.ts';
import { newestChange } from '../../local/s3/store.ts';
import { keepSaving } from '../../local/step-functions/history.ts';
import { showProgress } from '../../local/step-functions/progress.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { UsageError } from '../errors.ts';
import { adviseLocally, type Interrupted, type Outcome, outcomeOf } from '../executions/outcome.ts';
import { catchInterrupt } from '../interrupt.ts';
import { printLines, warn } from '../layout.ts';
import { quote, repeatCommand } from '../next-command.ts';
import { configFaults, loadConfig, type PlatformOptions, platformFaults } from '../options.ts';
import {
  findReplaced,
  type KeptRequest,
  keepRequest,
  readKeptRequests,
  targetOf,
} from '../requests/kept-requests.ts';
import {
  checkRequest,
  EXAMPLE,
  exampleRequest,
  executionName,
  findGivenRequest,
  futureFaults,
  type RequestOptions,
  withOptions,
} from '../requests/request.ts';
import { servingOptions } from '../sandbox.ts';
import { lockFolder } from './out-lock.ts';

export interface LocalRunOptions extends PlatformOptions, RequestOptions {
  readonly json?: true;
  readonly out: string;
  readonly speed: number;
  /** Replaces the request that the folder keeps under this name. */
  readonly takeOver?: true;
  /** Of the sandbox. */
  readonly restatedDays?: number;
}

/**
 * Runs the workflow on this machine, against the platform that the options name or against a sandbox.
 *
 * @returns its outcome, the command that exports what it did not deliver, and one that queries what was delivered
 * @throws UsageError with every fault of the command line, the request and cdk.json, before anything is started
 */
export async function runLocal(
  name: string | undefined,
  options: LocalRunOptions,
): Promise<{ readonly outcome: Outcome; readonly next: string; readonly query?: string | undefined }> {
  const { clock, warnings: ofClock } = await createClock(options);
  const { input, given, request, replaced, warnings } = await checkAll(name, options, new Date(clock.now()));
  warnings.push(...ofClock);
  for (const warning of warnings) warn(warning);

  await using _lock = await lockFolder(options.out);
  await keepRequest(options.out, { input: given, request, options }, replaced);
  await using platform = await createPlatformAccess(options, clock, request);
  await using local = await startLocal({
    ...platform,
    credentials: { [request.account]: platform.credential },
    out: options.out,
    clock,
    config: loadConfig(),
    onDoubled: (key, bytes) => tellBytes(key, bytes, new Date(clock.now())),
  });
  const next = repeatCommand();
  local.history.next = next;
  const execution = local.export(input, executionName(request, new Date(clock.now())));
  await using _saving = keepSaving(local.history);
  using interrupt = catchInterrupt();
  interrupt.signal.addEventListener('abort', () => execution.abort());
  await showProgress(execution, local, process.stderr);
  const result = await execution.result;
  if (result.status === 'ABORTED') return { outcome: describeInterrupted(execution.name, next), next };
  const outcome = outcomeOf({ name: execution.name, ...result });
  if (outcome.outcome !== 'failed')
    return { outcome, next, query: firstQuery(request, { out: options.out, bucket: local.bucket }) };
  return { outcome: adviseLocally(outcome, { ...options, account: request.account }), next };
}

/** The progress on a terminal shows the bytes all the time. */
function tellBytes(key: string, bytes: number, now: Date): void {
  if (!process.stderr.isTTY)
    printLines([`${now.toISOString()} ${key}: ${prettyBytes(bytes)} so far`], process.stderr);
}

function describeInterrupted(execution: string, next: string): Interrupted {
  return { outcome: 'interrupted', version: '1', execution, continues: false, next };
}

/**
 * A run with --speed leaves times in the future. The clock starts after them, because an export's table keeps the report that was
 * created last.
 */
async function createClock({
  out,
  speed,
}: Pick<LocalRunOptions, 'out' | 'speed'>): Promise<{ clock: Clock; warnings: string[] }> {
  const now = Date.now();
  const newest = await newestChange(out);
  if (newest === undefined || newest < now) return { clock: scaledClock(speed, now), warnings: [] };
  const start = new Date(newest + 1);
  const warning = `${out} has times in the future, from a run with --speed; this run's clock starts at ${start.toISOString()}`;
  return { clock: scaledClock(speed, now, start.getTime() - now), warnings: [warning] };
}

/** @throws UsageError with every fault */
async function checkAll(name: string | undefined, options: LocalRunOptions, now: Date) {
  const faults = [...(await findPlatformFaults(options)), ...configFaults()];
  try {
    const given = await findLocalRequest(name, options, now);
    const input = withOptions(given, options);
    const checked = checkRequest(input, now);
    faults.push(...columnFaults(input), ...futureFaults(checked.request, now));
    const { out, takeOver } = options;
    const kept = await readKeptRequests(out, now);
    const platform = platformOf(options);
    const replaced = findReplaced(out, { request: checked.request, platform }, kept);
    if (!takeOver) faults.push(...replaced.map((each) => describeReplaced(each, platform)));
    if (faults.length === 0) return { input, given: withDates(given, options), replaced, ...checked };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    faults.push(...error.faults);
  }
  throw new UsageError([...new Set(faults)]);
}

/** A local run writes a table that the config may not have checked. */
function columnFaults(input: unknown): string[] {
  const source = configFaults().length === 0 && tableSource(withColumns(Object(input), loadConfig().exports));
  return source ? nameFaults(source) : [];
}

/** Undefined if --base-url is no URL, which is a fault of its own. */
function platformOf(options: PlatformOptions): string | undefined {
  const { baseUrl } = options;
  return baseUrl === undefined || URL.canParse(baseUrl) ? targetOf(options).platform : undefined;
}

function describeReplaced({ file, request, options }: KeptRequest, ours: string | undefined): string {
  const { platform } = targetOf(options);
  const what = tableOf(request) === undefined ? 'files' : `days in the table ${tableOf(request)}`;
  const other = ours === undefined || platform === ours ? 'another request' : `a request to ${platform}`;
  return (
    `${other} is kept in ${file}, and this one would replace its ${what}: give this request another name or ` +
    'another "table", or add --take-over to replace it'
  );
}

/** The dates of the options, for a request that has none. */
function withDates(given: unknown, { from, to }: LocalRunOptions): unknown {
  const { period, start_date } = Object(given);
  if (from === undefined || to === undefined || period !== undefined || start_date !== undefined)
    return given;
  return withOptions(given, { from, to });
}

/** Without --base-url, the platform is a sandbox, which has its own credential and revision. */
async function findPlatformFaults(options: LocalRunOptions): Promise<string[]> {
  if (options.baseUrl !== undefined)
    return [
      ...(await platformFaults(options, '--base-url', ['revision', 'credential'])),
      ...(options.restatedDays === undefined
        ? []
        : ['--restated-days changes the sandbox, which --base-url replaces']),
    ];
  return (['credential', 'revision'] as const)
    .filter((name) => options[name] !== undefined)
    .map((name) => `--${name} needs --base-url`);
}

/** The request as it was given; without one, the example. */
async function findLocalRequest(
  name: string | undefined,
  options: LocalRunOptions,
  now: Date,
): Promise<unknown> {
  const { input, baseUrl, account = EXAMPLE.account } = options;
  const isOther =
    input !== undefined || (name ?? EXAMPLE.name) !== EXAMPLE.name || account !== EXAMPLE.account;
  if (isOther || loadConfig().exports.some((entry) => entry.name === name))
    return findGivenRequest(name, options);
  if (baseUrl !== undefined) throw new UsageError(['--base-url needs --input, or the name of an export']);
  return exampleRequest(now);
}

/** A minute: two runs, one after the other, show restated days. */
const RESTATED_EVERY_HOURS = 1 / 60;

async function createPlatformAccess(
  { baseUrl, revision, credential, restatedDays: days }: LocalRunOptions,
  clock: Clock,
  request: ExportRequest,
) {
  if (baseUrl !== undefined && revision !== undefined && credential !== undefined)
    return { baseUrl, revision, credential: { file: credential }, async [Symbol.asyncDispose]() {} };
  const sandbox = await startSandbox({
    ...servingOptions(clock.speed, [request]),
    ...(days !== undefined && { report: { restated: { days, everyHours: RESTATED_EVERY_HOURS } } }),
    now: clock.now,
  });
  const secret = { client_id: sandbox.clientId, client_secret: sandbox.clientSecret };
  return {
    baseUrl: sandbox.baseUrl,
    revision: sandbox.revision,
    credential: { text: JSON.stringify(secret) },
    [Symbol.asyncDispose]: () => sandbox.close(),
  };
}

/** The command that queries what a local run has written: its table, or the file of purchases; undefined if there is none. */
export function firstQuery(
  request: ExportRequest,
  { out, bucket }: { readonly out: string; readonly bucket: string },
): string | undefined {
  const select = request.kind === 'purchases' ? selectPurchases : selectTable;
  const sql = select(request, join(out, bucket));
  if (sql === undefined) return undefined;
  const folder = out === 'out' ? '' : `--out ${quote(out)} `;
  // The shell changes these characters within double quotes.
  return `npm run export -- query --local ${folder}"${sql.replaceAll(/["$`\\]/g, '\\$&')} LIMIT 10"`;
}

function selectTable(request: ExportRequest, bucket: string): string | undefined {
  const table = tableOf(request);
  if (table === undefined || !existsSync(join(bucket, TABLES_PREFIX, table))) return undefined;
  const name = catalogName(table);
  return `SELECT * FROM ${/^[a-z_]/.test(name) ? name : `"${name}"`}`;
}

/** The contract does not show the shape of the answer: it may be a list of purchases, or have one in a field. */
function selectPurchases(request: ExportRequest, bucket: string): string | undefined {
  const file = join(bucket, objectKey(request, request));
  if (!existsSync(file)) return undefined;
  const answer = Object(parseJson(readFileSync(file, 'utf8')));
  const field = Array.isArray(answer)
    ? undefined
    : Object.keys(answer).find((key) => Array.isArray(answer[key]));
  const columns = field === undefined ? '*' : `unnest("${field.replaceAll('"', '""')}", max_depth := 2)`;
  return `SELECT ${columns} FROM read_json('${file.replaceAll("'", "''")}')`;
}
