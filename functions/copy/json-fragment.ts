import { NOTHING_SCANNED, openJsonScan, pack, type Scanned, unpack } from './json-scan.ts';
import { isClosed, rowsOf, savedBeginning } from './json-shape.ts';
import { DEPTH_MAX } from './json-shape.wasm.ts';

/** Bytes from the middle of JSON text whose beginning is not known yet. */
export interface JsonFragment {
  /** @returns false once the bytes cannot be of JSON, whatever came before */
  write(chunk: Uint8Array): boolean;
  /** For {@link openJsonFragment} and {@link joinJson}: printable, under 2 kB. */
  save(): string;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

interface SavedFragment {
  /** Whether the first byte that is no backslash is a quote; null while there is none. */
  readonly quoted: boolean | null;
  /** Scanned as if the bytes began outside a string, and inside one; null for what cannot have been. */
  readonly scanned: readonly [object | null, object | null];
}

/**
 * Scans a fragment as if it began outside a string and as if it began inside one; joinJson knows which was true.
 *
 * @param saved what another call has seen of the fragment
 */
export function openJsonFragment(saved?: string): JsonFragment {
  const begun = saved === undefined ? undefined : (JSON.parse(saved) as SavedFragment);
  let quoted = begun?.quoted ?? null;
  const beginnings = begun?.scanned ?? [NOTHING_SCANNED, { ...NOTHING_SCANNED, inString: true }].map(pack);
  const scans = beginnings.map((packed) => packed && openJsonScan(unpack(packed)));
  return {
    write(chunk) {
      quoted ??= startsQuoted(chunk);
      for (const [at, scan] of scans.entries()) if (scan && !scan.write(chunk)) scans[at] = null;
      return scans.some((scan) => scan !== null);
    },
    save() {
      const [outside, inside] = scans.map((scan) => scan && pack(scan.scanned()));
      return JSON.stringify({ quoted, scanned: [outside ?? null, inside ?? null] } satisfies SavedFragment);
    },
  };
}

function startsQuoted(chunk: Uint8Array): boolean | null {
  const first = chunk.find((byte) => byte !== BACKSLASH);
  return first === undefined ? null : first === QUOTE;
}

/**
 * What one shape would have found of the whole text.
 *
 * @param beginning a saved shape of at least the first three bytes, as long as a byte order mark
 * @param fragments saved, of all that follows, in order
 */
export function joinJson(
  beginning: string,
  fragments: readonly string[],
): { closed: boolean; rows: number | undefined } | 'not JSON' {
  let scanned: Beginning | undefined = savedBeginning(beginning);
  for (const fragment of fragments) scanned &&= join(scanned, JSON.parse(fragment) as SavedFragment);
  return scanned ? { closed: isClosed(scanned), rows: rowsOf(scanned) } : 'not JSON';
}

/** Of a text up to some byte: it closed nothing that it did not open, and never went too deep. */
type Beginning = Omit<Scanned, 'closers' | 'highest'>;

/** @returns undefined if both together are no JSON */
function join(
  before: Beginning,
  { quoted, scanned: [outside, inside] }: SavedFragment,
): Beginning | undefined {
  // The fragment was scanned as if its first byte were not escaped. If it is, a quote there (or behind backslashes) does
  // the opposite of what was taken for granted, and from there on all is as in the other scan.
  const beganInside = before.inString !== (before.escapes && quoted === true);
  const packed = beganInside ? inside : outside;
  const after = packed && unpack(packed);
  if (!after || !closes(after.closers, before.open)) return undefined;
  const level = before.open.length - after.closers.length; // of the text, where the fragment has its floor
  if (level === 0 && after.filled[0]) return undefined;
  if (before.open.length + after.highest > DEPTH_MAX) return undefined;
  return {
    ...addRows(before, after, level),
    open: before.open.slice(0, level) + after.open,
    inString: after.inString,
    escapes: quoted === null ? before.escapes !== after.escapes : after.escapes,
  };
}

function closes(closers: string, open: string): boolean {
  return [...closers].every((closer, at) => open.at(-1 - at) === (closer === ']' ? '[' : '{'));
}

function addRows(before: Beginning, after: Scanned, level: number) {
  const { roots, rootIsArray, commas, filled } = before;
  if (level > 1) return { roots, rootIsArray, commas, filled };
  const isRoot = level === 0;
  const isFilled = isRoot ? after.filled[1] : after.filled[0] || after.roots > 0;
  return {
    roots: isRoot ? roots + after.roots : roots,
    rootIsArray: isRoot && after.roots > 0 ? after.rootIsArray : rootIsArray,
    commas: [0, commas[1] + after.commas[isRoot ? 1 : 0]] as const,
    filled: [false, filled[1] || isFilled] as const,
  };
}
