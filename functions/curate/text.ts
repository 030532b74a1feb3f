import type { ReportFile } from './report.ts';
import { EDGE_BYTES, findArray, unwrap } from './unwrap.ts';

/** The fault of a file without a character. A list may be empty, a report may not. */
export const EMPTY = 'is empty';

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

type Layout = ReportFile['layout'];

/** The layout of a text, and its fault if it is no report. */
export type Found = Pick<ReportFile, 'layout' | 'header' | 'around' | 'fault'>;

/**
 * Passes the text on without a byte order mark, and without an object around a single array, which DuckDB would read as
 * one row. Looks how JSON begins and ends, because DuckDB takes an empty file and `[row,` for complete.
 *
 * @param declared `csv`, `lines` if the content type says so, `array` for any other JSON
 * @param report called when all chunks were read
 */
export async function* readText(
  chunks: AsyncIterable<Buffer>,
  declared: Layout,
  report: (found: Found) => void,
): AsyncGenerator<Buffer> {
  const rest = chunks[Symbol.asyncIterator]();
  const head = await readHead(rest, declared);
  const first = head.toString('utf8').trimStart();
  if (declared === 'csv') {
    yield* passOn(withHead(head, rest));
    const [header = ''] = first.split(/\r?\n/, 1);
    return report({ layout: declared, header, ...withFault(faultOfCsv(first)) });
  }
  const wrapper = declared === 'array' ? findArray(head.toString('latin1')) : undefined;
  if (wrapper) {
    const array = withHead(head.subarray(wrapper.array), rest);
    const { around, fault } = yield* unwrap(head.toString('utf8', 0, wrapper.array), array);
    return report({ layout: 'array', ...(around && { around }), ...withFault(wrapper.fault ?? fault) });
  }
  const layout = first.startsWith('[') ? 'array' : 'lines';
  const last = yield* passOn(withHead(head, rest));
  report({ layout, ...withFault(faultOfJson(layout, first, last)) });
}

function withFault(fault: string | undefined): Pick<Found, 'fault'> {
  return fault === undefined ? {} : { fault };
}

/** Without what may come before the text. DuckDB takes an empty line for the header of CSV. */
async function readHead(chunks: AsyncIterator<Buffer>, declared: Layout): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < EDGE_BYTES) {
    const next = await chunks.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  const text = head.indexOf(BYTE_ORDER_MARK) === 0 ? head.subarray(BYTE_ORDER_MARK.length) : head;
  const start = declared === 'csv' ? text.findIndex((byte) => byte > 0x20) : 0;
  return text.subarray(Math.max(0, start));
}

async function* withHead(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

/** @returns the last character that is not white space */
async function* passOn(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, string | undefined> {
  let last: string | undefined;
  for await (const text of chunks) {
    const at = text.findLastIndex((byte) => byte > 0x20);
    if (at >= 0) last = String.fromCharCode(text[at] ?? 0);
    yield text;
  }
  return last;
}

const MARKUP = 'is HTML or XML';

function faultOfCsv(first: string): string | undefined {
  if (first === '') return EMPTY;
  if (/^<[!?a-z]/i.test(first)) return MARKUP;
  // A name may begin with a bracket.
  return /^(\{\s*["}]|\[\s*["[{\]])/.test(first) ? 'is JSON, but CSV was requested' : undefined;
}

function faultOfJson(layout: Layout, first: string, last: string | undefined): string | undefined {
  if (first === '') return EMPTY;
  if (first.startsWith('<')) return MARKUP;
  if (!/^[[{]/.test(first)) return 'is not JSON';
  return last === (layout === 'array' ? ']' : '}') ? undefined : 'is cut off';
}
