import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runLocalQuery } from '../../../infra/cli/query/local.ts';
import type { PageContents } from '../../../infra/page/contents.ts';
import { readPage } from '../../../infra/page/read-page.ts';

export const NOW = new Date('2026-10-13T12:00:00.000Z');

export async function page(out: string): Promise<PageContents> {
  return readPage({ local: true, out }, NOW);
}

/** The announced end of an execution. */
export async function announce(out: string, type: string, detail: object): Promise<void> {
  const event = { 'detail-type': type, detail, time: '2026-10-12T06:00:00Z' };
  await appendFile(join(out, 'events.jsonl'), `${JSON.stringify(event)}\n`);
}

/** The rows of a query, each value as it is printed. */
export async function ask(sql: string | undefined, out: string) {
  const { rows } = await runLocalQuery(sql ?? '', out);
  return (await Array.fromAsync(rows)).flat();
}

/** A day in the metadata of a month's object. */
export const SHOWN = {
  report_id: 'r-1',
  created_at: '2026-10-09T06:00:00Z',
  request_hash: 'h',
  rows: 9,
  restated: false,
};
