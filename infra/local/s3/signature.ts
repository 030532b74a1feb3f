import { createHmac, hash as digest, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { S3Error } from './answers.ts';

export type Credentials = { accessKeyId: string; secretAccessKey: string };

const ALGORITHM = 'AWS4-HMAC-SHA256';
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([a-z0-9-]+)\/([a-z0-9-]+)\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;

/**
 * Verifies the Signature Version 4 in the Authorization header. It accepts any region, and any time, because the clock
 * of a local run may be faster than real time. It does not support pre-signed URLs.
 *
 * @throws S3Error AccessDenied, AuthorizationHeaderMalformed, InvalidAccessKeyId, InvalidRequest, SignatureDoesNotMatch
 */
export function verifySignature(request: IncomingMessage, credentials: Credentials): void {
  const header = request.headers.authorization;
  if (header === undefined) throw new S3Error('AccessDenied', 'The request is not signed');
  const [, accessKeyId, date = '', region = '', service, signedHeaders = '', signature = ''] =
    AUTHORIZATION.exec(header) ?? [];
  if (service !== 's3') {
    throw new S3Error(
      'AuthorizationHeaderMalformed',
      'The credential scope must be DATE/REGION/s3/aws4_request',
    );
  }
  if (accessKeyId !== credentials.accessKeyId) throw new S3Error('InvalidAccessKeyId');
  const names = signedHeaders.split(';');
  requireSigned(request, names);
  const scope = [date, region, 's3', 'aws4_request'];
  const hash = digest('sha256', canonicalRequest(request, names));
  const toSign = [ALGORITHM, headerOf(request, 'x-amz-date'), scope.join('/'), hash].join('\n');
  const expected = hmac(signingKey(credentials, scope), toSign);
  if (!timingSafeEqual(expected, Buffer.from(signature, 'hex'))) throw new S3Error('SignatureDoesNotMatch');
}

let lastKey: { readonly of: string; readonly key: Buffer } | undefined;

/** The key for a date, Region and service. Nearly all requests have that of the request before. */
function signingKey({ secretAccessKey }: Credentials, scope: readonly string[]): Buffer {
  const of = [secretAccessKey, ...scope].join('\n');
  if (lastKey?.of !== of) lastKey = { of, key: scope.reduce(hmac, Buffer.from(`AWS4${secretAccessKey}`)) };
  return lastKey.key;
}

/** Like S3, requires that the signature covers the host and every x-amz- header. */
function requireSigned(request: IncomingMessage, names: readonly string[]): void {
  if (headerOf(request, 'x-amz-content-sha256') === '') {
    throw new S3Error('InvalidRequest', 'Missing required header for this request: x-amz-content-sha256');
  }
  const needed = Object.keys(request.headers).filter((name) => name === 'host' || name.startsWith('x-amz-'));
  const unsigned = needed.filter((name) => !names.includes(name));
  if (unsigned.length > 0) {
    throw new S3Error(
      'AccessDenied',
      `There were headers present which were not signed: ${unsigned.join(', ')}`,
    );
  }
}

function canonicalRequest(request: IncomingMessage, names: readonly string[]): string {
  const [path = '', query = ''] = (request.url ?? '').split('?', 2);
  const headers = names.map((name) => `${name}:${headerOf(request, name).trim().replace(/ +/g, ' ')}\n`);
  const payload = headerOf(request, 'x-amz-content-sha256');
  return [request.method, path, canonicalQuery(query), headers.join(''), names.join(';'), payload].join('\n');
}

function canonicalQuery(query: string): string {
  const encode = (text: string) =>
    encodeURIComponent(decodeURIComponent(text)).replace(
      /[!'()*]/g,
      (c) => `%${c.charCodeAt(0).toString(16)}`,
    );
  return query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => pair.split('=', 2))
    .map(([name = '', value = '']) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function headerOf(request: IncomingMessage, name: string): string {
  return [request.headers[name] ?? ''].flat().join(',');
}
