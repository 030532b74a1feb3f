import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type * as Contract from '../../functions/contract.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import * as otherContract from '../workflow/other-platform/contract.ts';

const BIOME = fileURLToPath(import.meta.resolve('@biomejs/biome/bin/biome'));
const WORDS = fileURLToPath(new URL('../../functions/contract-words.grit', import.meta.url));

/** What lint says about a file of functions. */
function lint(code: string): string {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'biome.json'), JSON.stringify({ plugins: [WORDS], linter: { rules: {} } }));
  writeFileSync(join(folder, 'step.ts'), code);
  const { stdout, stderr } = spawnSync(process.execPath, [BIOME, 'lint', 'step.ts'], {
    cwd: folder,
    encoding: 'utf8',
  });
  return stdout + stderr;
}

it.each([
  ['a path', "export const path = '/reports';"],
  ['a path in a template', 'export const path = `/reports`;'],
  ['an address of OAuth', "export const path = '/oauth2/token';"],
  ['a field of an answer', 'export const url = (body: Record<string, string>) => body.download_url;'],
  ['a field that is taken apart', 'export const urlOf = ({ download_url: url }: Body) => url;'],
  ['a field as a variable', 'export const urlOf = ({ download_url }: Body) => download_url;'],
  ['a status', "export const isReady = (status: string) => status === 'READY';"],
  ['a status as a type', "export type Status = 'READY' | 'other';"],
  ['a path as a pattern', 'export const reports = /^\\/reports\\//;'],
  ['a header', "export const headers = { 'x-service-revision': '2026-09-01' };"],
  ['a scope', "export const scope = 'reporting:read';"],
  ['a grant', "export const form = { grant_type: 'client_credentials' };"],
  ['the days of a report', 'export const MAX_DAYS = 45;'],
])('lint refuses %s in another file than the contract', (_, code) => {
  expect(lint(code)).toContain("A word of the platform's contract. Take it from contract.ts.");
});

it.each([
  ['a file that ends like a path', "export { getReport } from './platform/reports.ts';"],
  ['a name that ends like a status', 'export const ALREADY = settings.ALREADY;'],
  ['a word of the product', "export const fields = ['advertiser_ids', 'start_date', 'revision', 'format'];"],
])('lint accepts %s', (_, code) => {
  expect(lint(code)).not.toContain('contract');
});

it('another contract may name the ad account and the revision in its poll', () => {
  const pollRequest: typeof Contract.pollRequest = (id, { advertiserIds: [account], revision }) => ({
    method: 'GET',
    path: `/${revision}/ad_accounts/${account}/reports`,
    query: { token: id },
  });
  expect(pollRequest('t', { revision: '2026-01-01', advertiserIds: ['549'] })).toMatchObject({
    path: '/2026-01-01/ad_accounts/549/reports',
    query: { token: 't' },
  });
});

it('the contract of another platform has each word that ours has', () => {
  const contract: typeof Contract = otherContract;
  expect(contract).toHaveProperty('STATUSES');
});
