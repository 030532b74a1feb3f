import { NOTHING_SCANNED, openJsonScan, pack, type Scanned, unpack } from './json-scan.ts';

/**
 * The shape of JSON text as its bytes pass: where strings and brackets begin and end, how many rows there are, and
 * whether it has been seen to close. Values are not parsed; memory is the same whatever the size.
 */
export interface JsonShape {
  /** @returns false once the bytes cannot be the beginning of JSON that holds rows; then there is nothing more to write */
  write(chunk: Uint8Array): boolean;
  /** Whether the text could end here: something was opened, and all of it is closed. */
  closed(): boolean;
  /** Whether the text has ended: one value, and it is closed. Where values follow each other, another may always come. */
  ended(): boolean;
  /** Elements of the array, or values where several follow each other (NDJSON); undefined for a single object. */
  rows(): number | undefined;
  /** For {@link openJsonShape}: printable, under 1 kB. Not of a shape that is broken. */
  save(): string;
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

interface SavedShape {
  /** Bytes of the byte order mark that were there; all three also where there is none. */
  readonly mark: number;
  readonly scanned: object;
}

/** @param saved what another shape has seen of the bytes before */
export function openJsonShape(saved?: string): JsonShape {
  const begun = saved === undefined ? undefined : (JSON.parse(saved) as SavedShape);
  const scan = openJsonScan(begun ? unpack(begun.scanned) : NOTHING_SCANNED);
  let mark = begun?.mark ?? 0;
  let intact = true;

  /** Where the text begins in a chunk; a byte order mark may come in several. */
  function skipMark(chunk: Uint8Array): number {
    let at = 0;
    while (mark < BYTE_ORDER_MARK.length && at < chunk.length && chunk[at] === BYTE_ORDER_MARK[mark]) {
      mark++;
      at++;
    }
    if (at === chunk.length || mark === BYTE_ORDER_MARK.length) return at;
    intact = mark === 0;
    mark = BYTE_ORDER_MARK.length;
    return at;
  }

  return {
    write(chunk) {
      const at = mark < BYTE_ORDER_MARK.length ? skipMark(chunk) : 0;
      intact &&= scan.write(at === 0 ? chunk : chunk.subarray(at)) && scan.stands();
      return intact;
    },
    closed: () => intact && isClosed(scan.scanned()),
    ended: () => intact && isClosed(scan.scanned()) && scan.scanned().roots === 1,
    rows: () => rowsOf(scan.scanned()),
    save: () => JSON.stringify({ mark, scanned: pack(scan.scanned()) } satisfies SavedShape),
  };
}

export function isClosed({ roots, open }: Pick<Scanned, 'roots' | 'open'>): boolean {
  return roots > 0 && open === '';
}

type RowsOf = Pick<Scanned, 'roots' | 'rootIsArray' | 'commas' | 'filled'>;

export function rowsOf({ roots, rootIsArray, commas, filled }: RowsOf): number | undefined {
  if (roots > 1) return roots;
  if (!rootIsArray) return undefined;
  return filled[1] ? commas[1] + 1 : 0;
}

/** What is known of the text from its beginning up to where `saved` was saved. */
export function savedBeginning(saved: string): Scanned {
  return unpack((JSON.parse(saved) as SavedShape).scanned);
}
