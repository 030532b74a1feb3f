import { crc32 } from 'node:zlib';
import { base64Crc32 } from '../../functions/copy/crc32.ts';
import { errors } from '../../functions/workflow/errors.ts';
import type { JournalEntry } from '../../infra/local/s3/server.ts';
import type { Sandbox } from '../../infra/local/sandbox/sandbox.ts';
import type { Ended, Phase, Played, StoredFile } from './run-scenario.ts';
import { decoded, isServed, type WindowKey } from './sources.ts';

const MANIFEST = '_manifest.json';

/** Calls of the platform that the exports of a run may make at most, its windows' worst cases together. */
const MAX_CALLS = 2_000;

/** The promises that a run broke, a line each; P6 is swept for over all that a workflow has written. */
export function broken(sandbox: Sandbox, played: Played): string[] {
  const { faulty, clean } = played;
  return [
    ...[faulty, clean].flatMap((phase) => [
      ...wrongObjects(sandbox, played, phase),
      ...tooSoonVisible(phase),
      ...tooSoonAsked(sandbox, phase),
    ]),
    ...faulty.ended.flatMap((ended) => badEnd(played, ended)),
    ...leftBehind(played),
    ...notConverged(played),
  ];
}

/** P1: an object at its key and nothing else, its bytes the source's; P2: a manifest says what is there. */
function wrongObjects(sandbox: Sandbox, played: Played, { objects }: Phase): string[] {
  return [...objects].flatMap(([key, file]) => {
    const { name = '', folder, ...window } = placeOf(key);
    if (name === '_failure.json') return [];
    if (name === MANIFEST) return wrongManifest(played, objects, key, file);
    const siblings = [...objects.keys()].filter((other) => isData(other) && placeOf(other).folder === folder);
    if (siblings.length > 1) return [`P1: two objects of one window: ${siblings.join(' ')}`];
    if (!name.startsWith('report.')) return [];
    return isServed(sandbox, played, window, file) ? [] : [`P1: ${key} is not what was served`];
  });
}

function wrongManifest(
  { scenario }: Played,
  objects: Phase['objects'],
  key: string,
  { bytes }: StoredFile,
): string[] {
  const manifest = JSON.parse(String(bytes));
  const object = objects.get(manifest.key);
  if (!object) return [`P2: ${key} names ${manifest.key}, which is not there`];
  // Of two exports of one window the later object may be other bytes; the manifest names the version that it means.
  if (new Set(scenario.exports.map(({ name }) => name)).size < scenario.exports.length) return [];
  const same =
    manifest.bytes === object.bytes.length &&
    manifest.checksum.value === base64Crc32(crc32(object.bytes)) &&
    manifest.content_encoding === object.encoding;
  return same ? [] : [`P2: ${key} describes another object than the one that is there`];
}

/** P2: before a manifest is written S3 had answered for its object, and before an event for its windows' manifests. */
function tooSoonVisible({ s3, announced }: Phase): string[] {
  const wasDone = ({ status }: JournalEntry) => status === 200 || status === 0;
  const done = s3.map((entry) =>
    wasDone(entry) && /^(Put|Complete)/.test(entry.operation) ? entry.key : '',
  );
  const manifests = done.flatMap((key, at) => {
    if (!key.endsWith(MANIFEST)) return [];
    const { folder } = placeOf(key);
    const before = done.slice(0, at).some((other) => isData(other) && placeOf(other).folder === folder);
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

/** P3: two GETs of one report are 10 s apart by the server's clock. */
function tooSoonAsked(sandbox: Sandbox, { calls }: Phase): string[] {
  const reports = new Set(sandbox.reports().map(({ id }) => id));
  const last = new Map<string, number>();
  return calls.flatMap(({ endpoint, reportId = '', at }) => {
    // An id that a fault made up may have been given to two windows.
    if (endpoint !== 'report' || !reports.has(reportId)) return [];
    const before = last.get(reportId);
    last.set(reportId, at);
    const apart = before === undefined ? Infinity : (at - before) / 1000;
    return apart >= 10 ? [] : [`P3: two GETs of ${reportId} within ${apart} s`];
  });
}

/** P4: it ended, and where it failed, with an error that has a name and says what to do. */
function badEnd(played: Played, { wanted, status, error, cause, execution }: Ended): string[] {
  const { scenario, faulty } = played;
  if (faulty.calls.length > MAX_CALLS) return [`P4: ${faulty.calls.length} calls of the platform`];
  if (status === undefined) return [`P4: ${execution} had not ended by the deadline`];
  if (status === 'SUCCEEDED') {
    const said = faulty.announced.filter(({ event }) => isAbout(event.detail, execution));
    return said.length === 1 && !wanted.invalid
      ? []
      : [`P4: ${execution} was announced ${said.length} times`];
  }
  if (status !== 'FAILED') return [`P4: ${execution} ended ${status}`];
  const card = readCard(cause);
  if (!card) return [`P4: ${execution} failed with ${error} and no card: ${cause}`];
  const cards = [card, ...(card.failed_windows ?? [])];
  return [
    ...((error === 'InvalidInput') === Boolean(wanted.invalid)
      ? []
      : [`P4: ${execution} failed with ${error}`]),
    ...(card.error === error ? [] : [`P4: the card's ${card.error} is not the execution's ${error}`]),
    ...cards
      .filter(({ todo, happened }) => !todo || !happened)
      .map((one) => `P4: says nothing: ${one.error}`),
    ...cards
      .filter((one) => !isTyped(one.error, scenario))
      .map((one) => `P4: untyped: ${one.error} ${one.happened}`),
    ...cards.flatMap((one) => wrongRequestIds(one, faulty)),
  ];
}

interface Card {
  readonly error: string;
  readonly happened: string;
  readonly todo: string;
  readonly execution: string;
  readonly request_ids: readonly string[];
  readonly failed_windows?: readonly Card[];
}

/** A function that was killed too often leaves Lambda's document, which is none. */
function readCard(cause = ''): Card | undefined {
  try {
    const card = JSON.parse(cause);
    return card.request_ids && card;
  } catch {
    return undefined;
  }
}

/** An error of ours; a kill and an event bus that never takes an event are told as AWS names them. */
function isTyped(error: string, { kills, bus }: Played['scenario']): boolean {
  if (Object.hasOwn(errors, error)) return true;
  return (
    (kills.length > 0 && error === 'Runtime.ExitError') || (bus > 0 && error === 'EventBridge.FailedEntry')
  );
}

/** The ids are the platform's own, and there is one where it refused with an envelope. */
function wrongRequestIds({ error, request_ids }: Card, { calls }: Phase): string[] {
  const answered = new Set(calls.flatMap(({ requestId }) => requestId ?? []));
  const unknown = request_ids.filter((id) => id !== 'absent' && !answered.has(id));
  const refused = ['RequestRefused', 'TokenRefusedAgain', 'RateLimited'].includes(error);
  return [
    ...unknown.map((id) => `P4: ${id} is no request_id of the platform's`),
    ...(refused && request_ids.length === 0 ? [`P4: ${error} without a request_id`] : []),
  ];
}

/** Only a kill leaves an upload open, or an S3 that does not let it be aborted. */
function leftBehind({ scenario: { kills, s3 }, faulty: { leftOpen } }: Played): string[] {
  return leftOpen === 0 || kills.length + s3.length > 0 ? [] : [`P1: ${leftOpen} uploads were left open`];
}

/** P5: once more without faults, and all is there: the same bytes at the same keys. */
function notConverged({ scenario, faulty, clean }: Played): string[] {
  const failed = clean.ended.filter(({ status }) => status !== 'SUCCEEDED');
  const bare = [...clean.objects.keys()].filter((key) => isData(key) && !clean.objects.has(manifestOf(key)));
  // What the storage host put in a file's place, or how it was encoded, is not its source's doing.
  const sameSource = !/changed|body|gzip/.test(scenario.platform.join());
  const stale = [...clean.objects.keys()].filter((key) => key.endsWith('_failure.json'));
  const other = [...faulty.objects].filter(([key, file]) => {
    const now = clean.objects.get(key);
    if (!now) return key.endsWith('.json') && !key.endsWith('_failure.json');
    return sameSource && isData(key) && !decoded(now)?.equals(decoded(file) ?? Buffer.of());
  });
  return [
    ...failed.map(({ execution, error, cause }) => `P5: ${execution} failed: ${error} ${cause}`),
    ...bare.map((key) => `P5: ${key} has no manifest`),
    ...stale.map((key) => `P5: ${key} is still there`),
    ...other.map(([key]) => `P5: ${key} is not what it was`),
  ];
}

interface PlaceOf extends WindowKey {
  readonly folder: string;
  readonly name: string | undefined;
}

function placeOf(key: string): PlaceOf {
  const parts = key.split('/');
  const [start_date = '', end_date = ''] = parts.slice(3, 5).map((part) => part.split('=')[1] ?? '');
  return { folder: parts.slice(0, -1).join('/'), name: parts.at(-1), start_date, end_date };
}

function isData(key: string): boolean {
  return key !== '' && !/\/_\w+\.json$/.test(key);
}

function manifestOf(key: string): string {
  return `${placeOf(key).folder}/${MANIFEST}`;
}

function isAbout(detail: unknown, execution: string): boolean {
  return (detail as { execution?: string }).execution === execution;
}
