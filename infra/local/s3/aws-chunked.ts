import { S3Error } from './answers.ts';

const LINE_MAX = 1024;

/**
 * Decodes an `aws-chunked` body: `SIZE[;extension]\r\n DATA \r\n … 0\r\n trailer: value\r\n \r\n`. Adds its trailers to
 * `trailers`. The SDK sends streams in this format, because it knows their checksum only at the end.
 *
 * @throws S3Error IncompleteBody if the framing is broken
 */
export async function* decodeAwsChunked(
  source: AsyncIterable<Buffer>,
  trailers: Map<string, string>,
): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  let missing = 0; // bytes left in the current chunk
  let state: 'size' | 'data' | 'data end' | 'trailer' | 'end' = 'size';
  for await (const piece of source) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    while (rest.length > 0 && state !== 'end') {
      if (state === 'data') {
        const data = rest.subarray(0, missing);
        rest = rest.subarray(data.length);
        missing -= data.length;
        if (missing === 0) state = 'data end';
        yield data;
        continue;
      }
      const end = rest.indexOf('\r\n');
      if (end < 0 && rest.length > LINE_MAX) throw broken();
      if (end < 0) break;
      const line = rest.toString('latin1', 0, end);
      rest = rest.subarray(end + 2);
      if (state === 'size') {
        missing = chunkSize(line);
        state = missing === 0 ? 'trailer' : 'data';
      } else if (state === 'data end') {
        if (line !== '') throw broken();
        state = 'size';
      } else if (line === '') {
        state = 'end';
      } else {
        const [name = '', ...value] = line.split(':');
        trailers.set(name.trim().toLowerCase(), value.join(':').trim());
      }
    }
  }
  if (state !== 'end') throw broken();
}

function chunkSize(line: string): number {
  const [, digits] = /^([0-9a-fA-F]{1,8})(;.*)?$/.exec(line) ?? [];
  if (digits === undefined) throw broken();
  return Number.parseInt(digits, 16);
}

function broken(): S3Error {
  return new S3Error('IncompleteBody', 'The aws-chunked framing is broken');
}
