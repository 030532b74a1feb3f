/** The head of an answer: names in lower case, a header that comes twice joined by a comma. */
export interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** Takes an answer as it is read. */
export interface AnswerReader {
  /** @throws BadAnswer, or what the receiver threw */
  write(bytes: Buffer): void;
  /** Whether all of the answer has come, as HTTP itself says it. */
  whole(): boolean;
  /**
   * The connection was closed.
   *
   * @returns whether HTTP itself said where the body ends; otherwise the connection's end may be the body's
   * @throws BadAnswer where it said so and the end has not come
   */
  end(): { framed: boolean };
}

interface Receiver {
  onHead(head: Head): void;
  /** A piece of the body, inside the bytes that were written. */
  onData(chunk: Buffer): void;
}

const HEAD_MAX = 64 * 1024;
const LINE_MAX = 4 * 1024;
const LF = 0x0a;

/**
 * Reads one answer of HTTP/1.1 (RFC 9112) to a GET. It is as strict as a receiver may be: what two readers could
 * take for two different bodies (two lengths, a length beside chunks, a coding beside chunked) is refused.
 */
export function openAnswer(receiver: Receiver): AnswerReader {
  let state: 'head' | 'length' | 'chunk size' | 'chunk' | 'chunk end' | 'trailer' | 'until closed' | 'done' =
    'head';
  let text = ''; // of the head, or of a line between chunks, as far as it has come
  let left = 0; // bytes of the body or chunk that are still to come

  function write(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && state !== 'done') {
      if (state === 'head') at = readHead(bytes, at);
      else if (state === 'length' || state === 'chunk' || state === 'until closed') at = readBody(bytes, at);
      else at = readLine(bytes, at);
    }
  }

  function readBody(bytes: Buffer, at: number): number {
    const end = state === 'until closed' ? bytes.length : Math.min(bytes.length, at + left);
    left -= end - at;
    if (left === 0 && state === 'length') state = 'done';
    if (left === 0 && state === 'chunk') state = 'chunk end';
    receiver.onData(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
    return end;
  }

  /** @returns where the next byte to read is */
  function readHead(bytes: Buffer, at: number): number {
    const before = text.length;
    text += bytes.toString('latin1', at, Math.min(bytes.length, at + HEAD_MAX));
    const end = text.indexOf('\r\n\r\n', Math.max(0, before - 3));
    if (end < 0 && text.length >= HEAD_MAX) throw new BadAnswer('its head is too long');
    if (end < 0) return bytes.length;
    const { version, ...head } = parseHead(text.slice(0, end));
    text = '';
    const next = at + end + 4 - before;
    if (head.status >= 200) begin(head, version);
    else if (head.status === 101) throw new BadAnswer('it changes the protocol');
    return next;
  }

  function begin(head: Head, version: string): void {
    const framing = framingOf(head, version);
    if (framing === 'chunked') state = 'chunk size';
    else if (framing === 'until closed') state = framing;
    else {
      left = framing;
      state = left === 0 ? 'done' : 'length';
    }
    receiver.onHead(head);
  }

  function readLine(bytes: Buffer, at: number): number {
    const feed = bytes.indexOf(LF, at);
    const end = feed < 0 ? bytes.length : feed + 1;
    text += bytes.toString('latin1', at, end);
    if (text.length > LINE_MAX) throw new BadAnswer('a line between its chunks is too long');
    if (feed < 0) return end;
    if (!text.endsWith('\r\n')) throw new BadAnswer('a line between its chunks ends in no CR LF');
    const line = text.slice(0, -2);
    text = '';
    if (state === 'chunk size') {
      left = chunkSize(line);
      state = left === 0 ? 'trailer' : 'chunk';
    } else if (state === 'trailer') {
      if (line === '') state = 'done';
    } else {
      if (line !== '') throw new BadAnswer('a chunk is longer than it says');
      state = 'chunk size';
    }
    return end;
  }

  function end(): { framed: boolean } {
    if (state === 'done') return { framed: true };
    if (state === 'until closed') return { framed: false };
    throw new BadAnswer('it broke off');
  }

  return { write, whole: () => state === 'done', end };
}

/** The connection does not speak HTTP as it should, or broke off; another may do better. */
export class BadAnswer extends Error {
  override readonly name = 'BadAnswer';
  readonly code = 'BAD_ANSWER';

  constructor(fault: string) {
    super(`The storage host's answer is not good HTTP: ${fault}`);
  }
}

function parseHead(text: string): Head & { version: string } {
  const [first = '', ...lines] = text.split('\r\n');
  const [, version, status] = /^HTTP\/(1\.[01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/.exec(first) ?? [];
  if (version === undefined) throw new BadAnswer('it begins with no status');
  const headers: Record<string, string> = Object.create(null);
  for (const line of lines) {
    const [, name, value] =
      /^([!#$%&'*+.^_`|~\w-]+):[\t ]*([\t\x20-\x7e\x80-\xff]*?)[\t ]*$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new BadAnswer('a header is malformed');
    const key = name.toLowerCase();
    headers[key] = key in headers ? `${headers[key]}, ${value}` : value;
  }
  return { version, status: Number(status), headers };
}

/** How the end of the body is known: its bytes, chunks, or that the connection closes. */
function framingOf({ status, headers }: Head, version: string): number | 'chunked' | 'until closed' {
  const { 'content-length': length, 'transfer-encoding': coding } = headers;
  if (status === 204 || status === 304) return 0;
  if (coding !== undefined) {
    if (length !== undefined) throw new BadAnswer('it has a length and a transfer coding');
    if (version === '1.0') throw new BadAnswer('it has a transfer coding in HTTP/1.0');
    if (coding.toLowerCase() !== 'chunked') throw new BadAnswer('its transfer coding is not chunked');
    return 'chunked';
  }
  if (length === undefined) return 'until closed';
  if (!/^\d{1,15}$/.test(length)) throw new BadAnswer('its length is no number');
  return Number(length);
}

function chunkSize(line: string): number {
  const [, digits] = /^([\da-fA-F]{1,12})[\t ]*(?:;.*)?$/.exec(line) ?? [];
  if (digits === undefined) throw new BadAnswer('a chunk has no size');
  return Number.parseInt(digits, 16);
}
