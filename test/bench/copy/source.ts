import { createServer, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

// Run by itself, so that its CPU is not counted: the storage host. GET /BYTES answers a JSON array of rows of about that size.

const ROW =
  '{"date":"2026-10-01","campaign_id":"6f1d2c1e-0001-4b1f-9f60-5d2f1f0a7b11","campaign_name":"Autumn, \\"Sale\\" [EU]","spend":1234.56,"impressions":98765}';
const BLOCK = Buffer.from(`${ROW},`.repeat(Math.floor(1_000_000 / (ROW.length + 1))));

const { key, cert } = process.env as { key?: string; cert?: string };
const server = key && cert ? createTlsServer({ key, cert }) : createServer();
server.on('request', (request, response) => {
  const blocks = Math.max(1, Math.round(Number(request.url?.slice(1)) / BLOCK.length));
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': blocks * BLOCK.length + 1 + ROW.length + 1,
    ETag: '"bench"',
  });
  response.write('[');
  send(response, blocks);
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));

function send(response: ServerResponse, blocks: number): void {
  for (let left = blocks; left > 0; left--) {
    if (!response.write(BLOCK)) {
      response.once('drain', () => send(response, left - 1));
      return;
    }
  }
  response.end(`${ROW}]`);
}
