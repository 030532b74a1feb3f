import { mkdtempSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startS3 } from '../../../infra/local/s3/server.ts';

// Runs in a process of its own, as `source` or as `s3`. Sends its port, and its CPU seconds whenever it is asked.

const ROW =
  '{"date":"2026-10-01","campaign_id":"6f1d2c1e-0001-4b1f-9f60-5d2f1f0a7b11","campaign_name":"Autumn, \\"Sale\\" [EU]","spend":1234.56,"impressions":98765}';
const BLOCK = Buffer.from(`${ROW},`.repeat(Math.floor(1_000_000 / (ROW.length + 1))));
const END = `${ROW}]`;

const [, , role, directory = mkdtempSync(join(tmpdir(), 'bench-s3-'))] = process.argv;
const { key, cert } = process.env as { key?: string; cert?: string };
const tls = key && cert ? { key, cert } : undefined;

process.send?.(role === 's3' ? await startSink() : await startSource());
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.((user + system) / 1e6);
});
process.on('disconnect', () => process.exit());

/** An S3 that checks the bytes and forgets them. */
async function startSink(): Promise<number> {
  const options = { directory, buckets: ['bench'], sink: true, ...(tls && { tls }) };
  const { endpoint } = await startS3(options);
  return Number(new URL(endpoint).port);
}

/** The storage host. GET /BYTES answers with a JSON array of about that size. */
function startSource(): Promise<number> {
  const server = tls ? createTlsServer(tls) : createServer();
  server.on('request', (request, response) => {
    const blocks = Math.max(1, Math.round(Number(request.url?.slice(1)) / BLOCK.length));
    response.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': 1 + blocks * BLOCK.length + END.length,
      ETag: '"bench"',
    });
    response.write('[');
    send(response, blocks);
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

function send(response: ServerResponse, blocks: number): void {
  for (let left = blocks; left > 0; left--) {
    if (response.write(BLOCK)) continue;
    response.once('drain', () => send(response, left - 1));
    return;
  }
  response.end(END);
}
