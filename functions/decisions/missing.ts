import { isDeepStrictEqual } from 'node:util';
import type { ObjectStore } from '../aws/objects.ts';
import { failureKey, manifestKey } from '../workflow/keys.ts';
import { dateIn } from '../workflow/request/dates.ts';
import type { ExportRequest } from '../workflow/request/request.ts';
import type { ExportPlan, Window } from '../workflow/states.ts';
import { askedOf } from './platform-request.ts';

/**
 * Windows that are looked at side by side, three calls each. Those of a hundred would share the CPU of a small function, and
 * take all of the 5 s that each call has from the moment at which it is made.
 */
const AT_A_TIME = 10;

/** Windows that a warning names; the rest are counted. */
const MAX_SHOWN = 10;

type Found = 'missing' | 'delivered' | keyof typeof AGAIN;

/** Why what was delivered before is exported again, where a person would not expect it. */
const AGAIN = {
  other: 'delivered before, but for another request or of another platform, and so exported again',
  early: 'delivered before their last day was over, and so exported again',
} as const;

interface Former {
  readonly store: Pick<ObjectStore, 'getText' | 'head'>;
  /** See platformOf in asked.ts. */
  readonly platform: string;
  /** X-Service-Revision where the request names none. */
  readonly revision: string;
  /** What was delivered before is as good as missing: it was to be exported afresh. */
  readonly since: Date;
  /** A time zone: what was made before a window's last day was over there is as good as missing. */
  readonly overIn?: string;
}

/**
 * The windows that have no manifest, or an older one, or one of another request or of an object that is not there any
 * more, or have failed since, or were exported while their days lasted: what is asked of which platform, and the revision,
 * decide, not what the export is called or how many windows it takes at a time.
 *
 * @throws AccessRefused, ServiceUnavailable
 */
export async function findMissing(
  request: ExportRequest,
  windows: readonly Window[],
  former: Former,
): Promise<Required<Pick<ExportPlan, 'windows' | 'already_delivered' | 'warnings'>>> {
  const found: Found[] = [];
  for (let at = 0; at < windows.length; at += AT_A_TIME) {
    const some = windows.slice(at, at + AT_A_TIME);
    found.push(...(await Promise.all(some.map((window) => look(request, window, former)))));
  }
  const missing = windows.filter((_, at) => found[at] !== 'delivered');
  const again = (['other', 'early'] as const).flatMap((why) =>
    describeAgain(
      why,
      windows.filter((_, at) => found[at] === why),
    ),
  );
  return { windows: missing, already_delivered: windows.length - missing.length, warnings: again };
}

/** The request of an execution once more, for the windows that it has not delivered, or was not to deliver. */
export function onlyMissingSince(begun: string, request: object): object {
  const { only_missing } = request as { only_missing?: unknown };
  return { ...request, only_missing: only_missing || begun };
}

async function look(
  request: ExportRequest,
  window: Window,
  { store, platform, revision, since, overIn }: Former,
): Promise<Found> {
  const [text, failure] = await Promise.all([
    store.getText(manifestKey(request, window)),
    store.getText(failureKey(request, window)),
  ]);
  if (text === undefined || isOfWindow(failure)) return 'missing';
  // As the manifest has it: JSON knows no undefined.
  const asked = JSON.parse(JSON.stringify(askedOf(request, window)));
  const made = { kind: request.kind, request: asked, platform, revision: request.revision ?? revision };
  const manifest = parse(text);
  const { kind, request: before, platform: where, revision: then, published_at } = manifest;
  if (Date.parse(String(published_at)) < since.getTime()) return 'missing';
  if (!isDeepStrictEqual({ kind, request: before, platform: where, revision: then }, made)) return 'other';
  if (overIn !== undefined && isEarly(manifest, window, overIn)) return 'early';
  return (await isThere(manifest, store)) ? 'delivered' : 'missing';
}

/** Whether rows of its last days could not all be there yet. A list is a snapshot, made in the course of its day. */
function isEarly(
  { kind, report_created_at, copied_at }: Readonly<Record<string, unknown>>,
  { end_date }: Window,
  timeZone: string,
): boolean {
  const made = new Date(String(report_created_at ?? copied_at));
  return kind !== 'list' && !Number.isNaN(made.getTime()) && dateIn(timeZone, made) < end_date;
}

/**
 * Whether the key still has the object that the manifest is about: a run that was killed before it wrote a manifest has left
 * its object beside the former one's. A bucket without versions, such as a local run's, tells it by its checksum.
 */
async function isThere(
  { key, checksum, version_id }: Readonly<Record<string, unknown>>,
  store: Former['store'],
): Promise<boolean> {
  const found = await store.head(String(key));
  if (version_id !== undefined) return found?.version_id === version_id;
  return found?.crc32 !== undefined && found.crc32 === Object(checksum).value;
}

/** At the prefix of the only window, the card may be of an export that was delivered, and not announced. */
function isOfWindow(card: string | undefined): boolean {
  const { window, windows_failed } = parse(card);
  return window !== undefined || windows_failed !== undefined;
}

/** What cannot be read was not made of this request. */
function parse(text = '{}'): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

function describeAgain(why: keyof typeof AGAIN, windows: readonly Window[]): string[] {
  if (windows.length === 0) return [];
  const shown = windows.slice(0, MAX_SHOWN).map(({ start_date, end_date }) => `${start_date} to ${end_date}`);
  const more = windows.length > MAX_SHOWN ? ` and ${windows.length - MAX_SHOWN} more` : '';
  return [`only_missing: ${AGAIN[why]}: ${shown.join(', ')}${more}`];
}
