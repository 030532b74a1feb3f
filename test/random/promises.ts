import { basename } from 'node:path';
import { crc32 } from 'node:zlib';
import { base64Crc32 } from '../../functions/aws/s3.ts';
import { errors } from '../../functions/workflow/errors.ts';
import { parseJson } from '../../functions/workflow/json.ts';
import { RUNS } from '../../functions/workflow/keys.ts';
import { daysOf } from '../../functions/workflow/request/dates.ts';
import type { FailureReport } from '../../functions/workflow/state-parts.ts';
import type { ExportResult } from '../../functions/workflow/states.ts';
import type { Sandbox } from '../../infra/lab/sandbox/start-sandbox.ts';
import type { Ended, Phase, StoredFile } from './phase.ts';
import type { ScenarioRun } from './run-scenario.ts';
import { decoded, isEmptied, isServed, type WindowKey } from './sources.ts';
import { wrongDays, wrongTotals } from './tables.ts';

const MANIFEST = '_manifest.json';

/** The most calls that the exports of a run may make: the worst cases of its windows together. */
const MAX_CALLS = 2_000;

/** A line for each promise that a run broke. P6 is checked for the whole workflow. */
export function brokenPromises(sandbox: Sandbox, run: ScenarioRun): string[] {
  const { faulty, resumed, clean, changed } = run;
  return [
    ...[faulty, ...resumed, clean, ...changed].flatMap((phase) => [
      ...wrongObjects(sandbox, run, phase),
      ...visibleTooEarly(phase),
      ...polledTooEarly(sandbox, phase),
      ...phase.tables.flatMap((table) => wrongTotals(sandbox, table, isEmptied(run))),
    ]),
    ...[...resumed, clean, ...changed].flatMap(withoutTotal),
    ...wrongTables(sandbox, run),
    ...incompleteLists(sandbox, run),
    ...faulty.ended.flatMap((ended) => wrongEnd(run, ended)),
    ...[faulty, clean].flatMap((phase) => wrongParents(run, phase)),
    ...notConverged(run),
    ...run.wrongAnswers,
  ];
}

/** P1: a window has one object with the source's bytes. P2: a manifest describes the object that it names. */
function wrongObjects(sandbox: Sandbox, run: ScenarioRun, { objects, published }: Phase): string[] {
  return [...objects].flatMap(([key, file]) => {
    const { name = '', folder, ...window } = partsOf(key);
    if (name === '_failure.json' || isRun(key) || isList(key)) return [];
    if (name === MANIFEST)
      return [...wrongManifest(published.get(key), key, file), ...wrongAdvertisers(sandbox, key, file)];
    const siblings = [...objects.keys()].filter(
      (sibling) => isData(sibling) && partsOf(sibling).folder === folder,
    );
    if (siblings.length > 1) return [`P1: two objects of one window: ${siblings.join(' ')}`];
    if (!/^report\./.test(name)) return [];
    return isServed(sandbox, run, window, file) ? [] : [`P1: ${key} is not what was served`];
  });
}

/** @param object the version that the manifest names; two exports of one window may store different bytes */
function wrongManifest(object: StoredFile | undefined, key: string, { bytes }: StoredFile): string[] {
  const manifest = JSON.parse(String(bytes));
  if (!object) return [`P2: ${key} names ${manifest.key}, which does not exist`];
  const same =
    manifest.bytes === object.bytes.length &&
    manifest.checksum.value === base64Crc32(crc32(object.bytes)) &&
    manifest.content_encoding === object.encoding &&
    // Nobody has read a file without a number of rows, for example because Glue failed. Its warnings say so.
    (manifest.rows === undefined || decoded(object) !== undefined);
  return same ? [] : [`P2: ${key} describes another object than the one that it names`];
}

/** P1: a manifest tells how many advertisers its report is about. */
function wrongAdvertisers(sandbox: Sandbox, key: string, { bytes }: StoredFile): string[] {
  const { report_id, advertisers } = JSON.parse(String(bytes));
  const report = sandbox.reports().find(({ id }) => id === report_id);
  const count = report?.request.advertiser_ids.length;
  if (!advertisers || count === undefined || advertisers.count === count) return [];
  return [`P1: ${key} tells of ${advertisers.count} advertisers, and its report is about ${count}`];
}

/** 60: a list of advertisers is complete, whatever pages the platform refuses. An empty body ends a list. */
function incompleteLists(sandbox: Sandbox, { scenario, faulty }: ScenarioRun): string[] {
  if (/body/.test(scenario.platform.join())) return [];
  return [...faulty.objects].flatMap(([key, { bytes }]) => {
    if (!isList(key)) return [];
    const ids: string[] = JSON.parse(String(bytes)).advertiser_ids;
    const absent = sandbox.advertiserIds.filter((id) => !ids.includes(id));
    return absent.length === 0 ? [] : [`60: ${key} lacks ${absent}`];
  });
}

/** P2: a manifest is written after its object, and an event is sent after the manifests of its windows. */
function visibleTooEarly({ s3, announced }: Phase): string[] {
  const done = s3.map(({ status, operation, key }) =>
    [0, 200].includes(status) && /^(Put|Complete)/.test(operation) ? key : '',
  );
  const manifests = done.flatMap((key, at) => {
    if (!key.endsWith(MANIFEST)) return [];
    const { folder } = partsOf(key);
    const before = done.slice(0, at).some((earlier) => isData(earlier) && partsOf(earlier).folder === folder);
    return before ? [] : [`P2: ${key} was written before its object`];
  });
  const events = announced
    .filter(({ event }) => event['detail-type'] === 'Report Exported')
    .flatMap(({ event, after }) => {
      const { windows } = event.detail as { windows: { manifest_key: string }[] };
      const early = windows.filter(({ manifest_key }) => !done.slice(0, after).includes(manifest_key));
      return early.map(({ manifest_key }) => `P2: announced before ${manifest_key} was written`);
    });
  return [...manifests, ...events];
}

/** P3: two GETs of one report are 10 s apart by the platform's clock. */
function polledTooEarly(sandbox: Sandbox, { calls }: Phase): string[] {
  const reports = new Set(sandbox.reports().map(({ id }) => id));
  const last = new Map<string, number>();
  return calls.flatMap(({ endpoint, reportId = '', at }) => {
    // A fault may give an invented id to two windows.
    if (endpoint !== 'report' || !reports.has(reportId)) return [];
    const before = last.get(reportId);
    last.set(reportId, at);
    const apart = before === undefined ? Infinity : (at - before) / 1000;
    return apart >= 10 ? [] : [`P3: two GETs of ${reportId} within ${apart} s`];
  });
}

/** P7, after the run with faults, after the one without, and after one with another metric. */
function wrongTables(sandbox: Sandbox, run: ScenarioRun): string[] {
  const { faulty, resumed, clean, changed } = run;
  const phases = [faulty, ...resumed, clean, ...changed];
  return phases.flatMap(({ tables }, at) =>
    tables.flatMap((table) => {
      const before = phases.slice(0, at).flatMap((phase) => phase.tables);
      const earlier = before.flatMap(({ name, curations }) => (name === table.name ? curations : []));
      return wrongDays(sandbox, table, { earlier, healthy: at > 0, emptied: isEmptied(run) });
    }),
  );
}

/** Without faults, every request that reconciles gets its total, for each day of the window. */
function withoutTotal({ announced, ended }: Phase): string[] {
  return ended.flatMap(({ requested, execution, status }) => {
    if (status !== 'SUCCEEDED' || requested.fields.reconcile !== true) return [];
    const exported = announced.find(({ event }) => isAbout(event.detail, execution));
    const { windows, reconciled, warnings } = exported?.event.detail as ExportResult;
    const days = windows.flatMap(({ window }) => daysOf(window)).length;
    return reconciled?.days === days ? [] : [`61: ${execution} was not reconciled: ${warnings}`];
  });
}

/** P4: every execution ends, and a failure has a typed error that says what to do. */
function wrongEnd(run: ScenarioRun, { requested, status, error, cause, execution }: Ended): string[] {
  const { scenario, faulty } = run;
  if (faulty.calls.length > MAX_CALLS) return [`P4: ${faulty.calls.length} calls of the platform`];
  if (status === undefined) return [`P4: ${execution} had not ended by the deadline`];
  if (status === 'SUCCEEDED') {
    const events = faulty.announced.filter(({ event }) => isAbout(event.detail, execution));
    return events.length === 1 && !requested.invalid
      ? []
      : [`P4: ${execution} was announced ${events.length} times`];
  }
  if (status !== 'FAILED') return [`P4: ${execution} ended ${status}`];
  const failure = parseFailure(cause);
  if (!failure) return [`P4: ${execution} failed with ${error} and no failure report: ${cause}`];
  const reports = [failure, ...(failure.failed_windows ?? [])];
  return [
    ...((error === 'InvalidInput') === Boolean(requested.invalid)
      ? []
      : [`P4: ${execution} failed with ${error}`]),
    ...(failure.error === error ? [] : [`P4: the report's ${failure.error} is not the execution's ${error}`]),
    ...reports
      .filter(({ todo, happened }) => !todo || !happened)
      .map((report) => `P4: ${report.error} does not say what happened or what to do`),
    ...reports
      .filter((report) => !isTyped(report.error, scenario))
      .map((report) => `P4: untyped: ${report.error} ${report.happened}`),
    ...reports.flatMap((report) => wrongRequestIds(report, run)),
  ];
}

/**
 * P1, P4: a run of several accounts exports each of them once, also if it starts twice. It fails only if one
 * of them fails, or if it could not write their runs: then it starts none of them.
 */
function wrongParents({ scenario, faulty }: ScenarioRun, phase: Phase): string[] {
  const { parents, ended } = phase;
  if (parents.length === 0) return [];
  const isPlanned = ({ status, error }: Ended) => status === 'SUCCEEDED' || error === 'ExportIncomplete';
  const refused = phase === faulty ? refusalsOf(scenario) : [];
  const unplanned = parents.filter((parent) => !isPlanned(parent));
  const wrong = unplanned.filter(({ error = '', cause }) => {
    const failure = parseFailure(cause);
    return !refused.includes(error) || failure?.error !== error || !failure.todo;
  });
  const statuses = parents.map(({ status, error }) => error ?? status ?? 'not ended');
  const children = ended.map(({ execution }) => execution).join(' ');
  const isMissed =
    ended.some(({ status }) => status !== 'SUCCEEDED') && !statuses.includes('ExportIncomplete');
  const started = unplanned.length < parents.length ? 1 : 0;
  return [
    ...wrong.map(
      ({ status, error, cause }) => `P4: a run of several accounts ended ${status} ${error} ${cause}`,
    ),
    ...(ended.length === started ? [] : [`P1: ${ended.length} executions of one account: ${children}`]),
    ...(isMissed ? [`P4: ${statuses} although ${children} failed`] : []),
  ];
}

/** The errors with which S3's faults may keep PlanExport from writing a run. */
function refusalsOf({ s3 }: ScenarioRun['scenario']): string[] {
  const answers = s3.flatMap(({ operation, answer }) => (operation === 'PutObject' ? [answer] : []));
  const isDenied = (answer: unknown) => answer === 'AccessDenied';
  return [
    ...(answers.some(isDenied) ? ['AccessRefused'] : []),
    ...(answers.some((answer) => !isDenied(answer)) ? ['ServiceUnavailable'] : []),
  ];
}

/** Endpoints whose errors have a request_id. */
const API: readonly string[] = ['create', 'report', 'purchases', 'list'];

type Reported = Pick<FailureReport, 'error' | 'request_ids'>;

/** Undefined for Lambda's own document, which is the Cause after a function was killed too often. */
function parseFailure(cause = ''): FailureReport | undefined {
  const failure = parseJson(cause) as FailureReport | undefined;
  return failure?.request_ids && failure;
}

/** True for an error class of ours, and for AWS's names of a kill and of an event bus that always fails. */
function isTyped(error: string, { kills, bus }: ScenarioRun['scenario']): boolean {
  if (Object.hasOwn(errors, error)) return true;
  return (
    (kills.length > 0 && error === 'Runtime.ExitError') || (bus > 0 && error === 'EventBridge.FailedEntry')
  );
}

/** The ids are the platform's own. An error for its answer has one, unless a fault took it from an answer. */
function wrongRequestIds({ error, request_ids }: Reported, { scenario, faulty }: ScenarioRun): string[] {
  const { calls } = faulty;
  // It says that there are no advertisers, which is an answer of the platform's, and no error of it.
  const isEmptyList = scenario.platform.some((fault) => /^list body="(\[\])?"/.test(fault));
  const answered = new Set(calls.flatMap(({ requestId }) => requestId ?? []));
  const unknown = request_ids.filter((id) => !answered.has(id));
  const isUnnamed = calls.some(
    ({ endpoint, status, requestId }) => API.includes(endpoint) && Number(status) >= 400 && !requestId,
  );
  const isRefused = ['RequestRefused', 'TokenRefusedAgain', 'RateLimited'].includes(error);
  return [
    ...unknown.map((id) => `P4: ${id} is no request_id of the platform's`),
    ...(isRefused && !isUnnamed && !isEmptyList && request_ids.length === 0
      ? [`P4: ${error} without a request_id`]
      : []),
  ];
}

/**
 * P5: the run without faults delivers everything: the same bytes at the same keys. Then each day that was
 * over is there or held, and `missing` names no run that did not finish.
 */
function notConverged({ scenario, faulty, clean, days }: ScenarioRun): string[] {
  const failed = [...clean.ended, ...clean.parents].filter(({ status }) => status !== 'SUCCEEDED');
  const bare = [...clean.objects.keys()].filter((key) => isData(key) && !clean.objects.has(manifestOf(key)));
  // These replace or encode the file.
  const isChanging = scenario.report.changing || scenario.newcomer;
  const sameSource = !/changed|body|gzip/.test(scenario.platform.join()) && !isChanging;
  const ends = new Map(clean.ended.map(({ execution, status }) => [execution, status]));
  const stale = [...clean.objects.keys()].filter(
    (key) => isRun(key) && ends.get(basename(key, '.json')) === 'SUCCEEDED',
  );
  const changed = [...faulty.objects].filter(([key, file]) => {
    const now = clean.objects.get(key);
    if (!now) return key.endsWith('.json') && !isRun(key);
    const [text, whole] = [decoded(file), decoded(now)];
    return sameSource && isData(key) && !whole?.equals(text ?? Buffer.of());
  });
  return [
    ...failed.map(({ execution, error, cause }) => `P5: ${execution} failed: ${error} ${cause}`),
    ...bare.map((key) => `P5: ${key} has no manifest`),
    ...stale.map((key) => `P5: ${key} was not removed`),
    ...changed.map(([key]) => `P5: ${key} changed`),
    ...days.flatMap(({ name, told, days: asked }) =>
      told.flatMap(({ command, days, runs }) => [
        ...days
          .filter(({ day }) => asked.includes(day))
          .filter(({ state, reason }) => !['there', 'held'].includes(state) && reason !== 'partial')
          .map(({ day, state }) => `P5: ${name}: ${command} calls ${day} ${state}`),
        ...runs.map(({ execution }) => `P5: ${name}: ${execution} did not finish`),
      ]),
    ),
  ];
}

interface KeyParts extends WindowKey {
  readonly folder: string;
  readonly name: string | undefined;
}

function partsOf(key: string): KeyParts {
  const parts = key.split('/');
  const [start_date = '', end_date = ''] = parts.slice(3, 5).map((part) => part.split('=')[1] ?? '');
  return { folder: parts.slice(0, -1).join('/'), name: parts.at(-1), start_date, end_date };
}

function isData(key: string): boolean {
  return key !== '' && !isRun(key) && !isList(key) && !/\/_\w+\.json$/.test(key);
}

/** It is removed when its execution has delivered everything. */
function isRun(key: string): boolean {
  return key.includes(`/${RUNS}`);
}

/** The advertisers of an account. */
function isList(key: string): boolean {
  return key.includes('/_advertisers/');
}

function manifestOf(key: string): string {
  return `${partsOf(key).folder}/${MANIFEST}`;
}

function isAbout(detail: unknown, execution: string): boolean {
  return (detail as { execution?: string }).execution === execution;
}
