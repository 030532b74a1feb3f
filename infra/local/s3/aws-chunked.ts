import { S3Error } from './answers.ts';

const LINE_MAX = 1024;

/**
 * Decodes an `aws-chunked` body: `SIZE[;extension]\r\n DATA \r\n … 0\r\n trailer: value\r\n \r\n`. Adds its trailers
 * to `trailers`. The SDK sends streams in this format, because it knows their checksum only at the end.
 *
 * @throws S3Error IncompleteBody if the framing is broken
 */
export async function* decodeAwsChunked(
  source: AsyncIterable<Buffer>,
  trailers: Map<string, string>,
): AsyncGenerator<Buffer> {
  const pieces = source[Symbol.asyncIterator]();
  let rest: Buffer = Buffer.alloc(0);
  const readMore = async () => {
    const { done, value } = await pieces.next();
    if (done) throw broken();
    rest = rest.length === 0 ? value : Buffer.concat([rest, value]);
  };
  const readLine = async () => {
    let end = rest.indexOf('\r\n');
    for (; end < 0; end = rest.indexOf('\r\n')) {
      if (rest.length > LINE_MAX) throw broken();
      await readMore();
    }
    const line = rest.toString('latin1', 0, end);
    rest = rest.subarray(end + 2);
    return line;
  };
  for (let missing = sizeIn(await readLine()); missing > 0; missing = sizeIn(await readLine())) {
    while (missing > 0) {
      if (rest.length === 0) await readMore();
      const data = rest.subarray(0, missing);
      rest = rest.subarray(data.length);
      missing -= data.length;
      yield data;
    }
    if ((await readLine()) !== '') throw broken();
  }
  for (let line = await readLine(); line !== ''; line = await readLine()) {
    const [name = '', ...value] = line.split(':');
    trailers.set(name.trim().toLowerCase(), value.join(':').trim());
  }
}

function sizeIn(line: string): number {
  const [, digits] = /^([0-9a-fA-F]{1,8})(;.*)?$/.exec(line) ?? [];
  if (digits === undefined) throw broken();
  return Number.parseInt(digits, 16);
}

function broken(): S3Error {
  return new S3Error('IncompleteBody', 'The aws-chunked framing is broken');
}
