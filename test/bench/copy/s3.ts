import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startS3 } from '../../../infra/local/s3/server.ts';
import { announce } from './announce.ts';

// Run by itself, so that its CPU is counted apart: S3, which takes the bytes and forgets them.

const { key, cert } = process.env as { key?: string; cert?: string };
const directory = mkdtempSync(join(tmpdir(), 'bench-s3-'));
const tls = key && cert ? { tls: { key, cert } } : {};
const { endpoint } = await startS3({ directory, buckets: ['bench'], sink: true, ...tls });
announce(Number(new URL(endpoint).port));
