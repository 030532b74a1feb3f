import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { finished } from 'node:stream/promises';
import { xml } from '../../../infra/lab/local/s3/answers.ts';
import { type Operation, readAddress } from '../../../infra/lab/local/s3/call.ts';
import { CERTIFICATE } from '../../support/certificate.ts';
import { startServer } from '../../support/listen.ts';

// Runs in a process of its own, as `source` or as `s3`, over `http` or `https`. Sends its port.

const ROW =
  '{"date":"2026-10-01","campaign_id":"6f1d2c1e-0001-4b1f-9f60-5d2f1f0a7b11","campaign_name":"Autumn, \\"Sale\\" [EU]","spend":1234.56,"impressions":98765}';
const BLOCK = Buffer.from(`${ROW},`.repeat(Math.floor(1_000_000 / (ROW.length + 1))));
const END = `${ROW}]`;

const RESULTS: Partial<Record<Operation, string>> = {
  CreateMultipartUpload: 'InitiateMultipartUploadResult',
  CompleteMultipartUpload: 'CompleteMultipartUploadResult',
};

const [, , role, protocol] = process.argv;

process.send?.(role === 's3' ? await startSink() : await startSource());
process.on('disconnect', () => process.exit());

/** An S3 that forgets the bytes and answers with the checksums that the client claims. It uses little CPU. */
function startSink(): Promise<number> {
  return start(async (request, response) => {
    const { operation, bucket, key, query } = readAddress(request);
    const crc32 = String(request.headers['x-amz-checksum-crc32'] ?? '');
    const stated = request.headers['x-amz-decoded-content-length'] ?? request.headers['content-length'];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    await finished(request);
    if (bytes < Number(stated ?? 0)) {
      response.destroy();
      return;
    }
    const names = {
      Bucket: bucket,
      Key: key,
      UploadId: query.get('uploadId') ?? randomUUID(),
      ETag: '"bench"',
      ChecksumCRC32: crc32,
    };
    response.writeHead(200, { ETag: '"bench"', 'x-amz-checksum-crc32': crc32 });
    const root = operation === undefined ? undefined : RESULTS[operation];
    response.end(root && xml(root, names));
  });
}

/** The storage host. GET /BYTES answers with a JSON array of about that size. */
function startSource(): Promise<number> {
  return start((request, response) => {
    const blocks = Math.max(1, Math.round(Number(request.url?.slice(1)) / BLOCK.length));
    response.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': 1 + blocks * BLOCK.length + END.length,
      ETag: '"bench"',
    });
    response.write('[');
    send(response, blocks);
  });
}

async function start(listener: RequestListener): Promise<number> {
  const server = protocol === 'https' ? createTlsServer(CERTIFICATE, listener) : createServer(listener);
  return (await startServer(server)).port;
}

function send(response: ServerResponse, blocks: number): void {
  for (let left = blocks; left > 0; left--) {
    if (response.write(BLOCK)) continue;
    response.once('drain', () => send(response, left - 1));
    return;
  }
  response.end(END);
}
