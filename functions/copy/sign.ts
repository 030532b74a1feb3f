import { createHash, createHmac } from 'node:crypto';

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** A PUT without a body to hash: what S3 is asked to check of the body is the checksum header, which is signed. */
export interface Unsigned {
  readonly host: string;
  /** Percent-encoded, as it is sent. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** What the body is called in place of its hash. */
  readonly payload?: string;
}

/**
 * Signature Version 4 with UNSIGNED-PAYLOAD: the SHA-256 of the body costs more than all else that a copy does, and S3
 * holds the body to its CRC32 instead. Plain http (a local endpoint alone; the bucket's policy refuses it on AWS) is
 * signed in the same way.
 *
 * @returns the path with its query, and all headers to send but the body's
 */
export function signPut(
  request: Unsigned,
  { region, credentials, now }: { region: string; credentials: Credentials; now: Date },
): { path: string; headers: Record<string, string> } {
  const { payload = 'UNSIGNED-PAYLOAD' } = request;
  const moment = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const scope = [moment.slice(0, 8), region, 's3', 'aws4_request'];
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.host,
    'x-amz-content-sha256': payload,
    'x-amz-date': moment,
    ...(credentials.sessionToken && { 'x-amz-security-token': credentials.sessionToken }),
  };
  const names = Object.keys(headers).sort();
  const signed = names.join(';');
  const query = canonicalQuery(request.query);
  const lines = names.map((name) => `${name}:${headers[name]}\n`).join('');
  const canonical = ['PUT', request.path, query, lines, signed, payload].join('\n');
  const hash = createHash('sha256').update(canonical).digest('hex');
  const toSign = ['AWS4-HMAC-SHA256', moment, scope.join('/'), hash].join('\n');
  const signature = hmac(scope.reduce(hmac, Buffer.from(`AWS4${credentials.secretAccessKey}`)), toSign);
  const credential = `Credential=${credentials.accessKeyId}/${scope.join('/')}`;
  headers.authorization = `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${signed}, Signature=${signature.toString('hex')}`;
  return { path: `${request.path}?${query}`, headers };
}

function canonicalQuery(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
