import { createServer, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { announce } from './announce.ts';
import { BLOCK, blocksOf, bytesOfFile, END } from './file.ts';

// Run by itself, so that its CPU is counted apart: the storage host. GET /BYTES answers a JSON array of rows of about that size.

const { key, cert } = process.env as { key?: string; cert?: string };
const server = key && cert ? createTlsServer({ key, cert }) : createServer();
server.on('request', (request, response) => {
  const about = Number(request.url?.slice(1));
  response.writeHead(200, {
    'Content-Type': 'application/json',
    'Content-Length': bytesOfFile(about),
    ETag: '"bench"',
  });
  response.write('[');
  send(response, blocksOf(about));
});
server.listen(0, '127.0.0.1', () => announce((server.address() as AddressInfo).port));

function send(response: ServerResponse, blocks: number): void {
  for (let left = blocks; left > 0; left--) {
    if (!response.write(BLOCK)) {
      response.once('drain', () => send(response, left - 1));
      return;
    }
  }
  response.end(END);
}
