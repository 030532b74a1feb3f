import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { S3Error } from './answers.ts';

export type Credentials = { accessKeyId: string; secretAccessKey: string };

const ALGORITHM = 'AWS4-HMAC-SHA256';
const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([a-z0-9-]+)\/([a-z0-9-]+)\/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$/;

/**
 * Checks the request's Signature Version 4 (in the Authorization header; pre-signed requests are not served).
 * The time is not compared with the clock: a local run may run faster than real time.
 *
 * @throws S3Error AccessDenied, AuthorizationHeaderMalformed, InvalidAccessKeyId, InvalidRequest, SignatureDoesNotMatch
 */
export function verifySignature(request: IncomingMessage, credentials: Credentials, region?: string): void {
  const header = request.headers.authorization;
  if (header === undefined) throw new S3Error('AccessDenied', 'The request is not signed');
  const [, accessKeyId, date = '', scopeRegion = '', service, signedHeaders = '', signature = ''] =
    AUTHORIZATION.exec(header) ?? [];
  if (service !== 's3' || (region !== undefined && scopeRegion !== region)) {
    throw new S3Error(
      'AuthorizationHeaderMalformed',
      'The credential scope must be DATE/REGION/s3/aws4_request',
    );
  }
  if (accessKeyId !== credentials.accessKeyId) throw new S3Error('InvalidAccessKeyId');
  const names = signedHeaders.split(';');
  requireSigned(request, names);
  const scope = `${date}/${scopeRegion}/s3/aws4_request`;
  const toSign = [
    ALGORITHM,
    one(request, 'x-amz-date'),
    scope,
    sha256(canonicalRequest(request, names)),
  ].join('\n');
  const expected = hmac(signingKey(credentials.secretAccessKey, date, scopeRegion), toSign);
  if (!timingSafeEqual(expected, Buffer.from(signature, 'hex'))) throw new S3Error('SignatureDoesNotMatch');
}

/** As S3: the host, and every x-amz- header that is sent, must be under the signature. */
function requireSigned(request: IncomingMessage, names: readonly string[]): void {
  if (one(request, 'x-amz-content-sha256') === '') {
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
  const headers = names.map((name) => `${name}:${one(request, name).trim().replace(/ +/g, ' ')}\n`);
  const payload = one(request, 'x-amz-content-sha256');
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

function signingKey(secret: string, date: string, region: string): Buffer {
  return [date, region, 's3', 'aws4_request'].reduce(hmac, Buffer.from(`AWS4${secret}`));
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function one(request: IncomingMessage, name: string): string {
  return [request.headers[name] ?? ''].flat().join(',');
}
