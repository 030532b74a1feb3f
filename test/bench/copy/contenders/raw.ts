import { Agent } from 'undici';
import { signPut } from '../../../../functions/copy/sign.ts';
import { CREDENTIALS } from '../../../../infra/local/s3/server.ts';

/** The limit: the body of one undici request is that of the other, and nobody looks at the bytes. */
export async function raw(url: string, endpoint: string): Promise<number> {
  const agent = new Agent({ allowH2: false });
  const source = new URL(url);
  const { body, headers } = await agent.request({
    origin: source.origin,
    path: source.pathname,
    method: 'GET',
  });
  const length = String(headers['content-length']);
  const { host, origin } = new URL(endpoint);
  const unsigned = { host, path: '/bench/raw', query: {}, headers: {} };
  const signed = signPut(unsigned, { region: 'eu-west-1', credentials: CREDENTIALS, now: new Date() });
  const answer = await agent.request({
    origin,
    path: signed.path,
    method: 'PUT',
    headers: { ...signed.headers, 'content-length': length },
    body,
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(text);
  return Number(length);
}
