import { expect, test } from 'vitest';
import { type Fault, parseFault } from '../../../../infra/lab/sandbox/faults.ts';
import { startClient } from './client.ts';

const RESET = expect.objectContaining({ code: expect.stringMatching(/ECONNRESET|UND_ERR_SOCKET/) });

test('nth is the first request that fails, and times is how many fail', async () => {
  const { create } = await startClient({ faults: ['create nth=2 times=2 status=500'] });
  const statuses = [];
  for (let call = 1; call <= 4; call += 1) statuses.push((await create()).status);
  expect(statuses).toEqual([201, 500, 500, 201]);
});

test('reset=before loses the request, reset=after only the response', async () => {
  const { sandbox, create } = await startClient({
    faults: ['create reset=before', 'create nth=2 reset=after'],
  });
  await expect(create()).rejects.toEqual(RESET);
  expect(sandbox.reports()).toHaveLength(0);
  await expect(create()).rejects.toEqual(RESET);
  expect(sandbox.reports()).toHaveLength(1);
});

test.each([
  ['create body="<h1>Bad gateway</h1>"', { status: 201, text: '<h1>Bad gateway</h1>' }],
  ['create omit=id', { text: '{"status":"CREATED"}' }],
  [
    'create status=422 set.error.detail={"validation":"all wrong"}',
    { envelope: expect.objectContaining({ detail: { validation: 'all wrong' } }) },
  ],
  ['create status=429 retry_after=120', { headers: expect.objectContaining({ 'retry-after': '120' }) }],
  [
    'create status=401 header.www-authenticate=Bearer',
    { headers: expect.objectContaining({ 'www-authenticate': 'Bearer' }) },
  ],
])('%s changes the response', async (fault, reply) => {
  const { create } = await startClient({ faults: [fault] });
  expect(await create()).toMatchObject(reply);
});

test.each<[string, Fault]>([
  ['token omit=expires_in times=always', { on: 'token', omit: ['expires_in'], times: Infinity }],
  ['token set.expires_in="3600"', { on: 'token', set: { expires_in: '3600' } }],
  ['create reset=after processed', { on: 'create', reset: 'after', processed: true }],
  ['list page=20 beyond=404', { on: 'list', page: 20, beyond: 404 }],
  ['report retry_after=date:60', { on: 'report', retry_after: 'date:60' }],
  ['report=2 set.status=FROZEN', { on: 'any', report: 2, set: { status: 'FROZEN' } }],
  ['any body="<p>a b</p>" header.X-A=1', { on: 'any', body: '<p>a b</p>', header: { 'x-a': '1' } }],
  ['list set.error={"a": [1, 2]}', { on: 'list', set: { error: { a: [1, 2] } } }],
  ['storage etag=weak gzip=wrong changed', { on: 'storage', etag: 'weak', gzip: 'wrong', changed: true }],
  ['any hang revoke', { on: 'any', hang: true, revoke: true }],
])('reads %s', (text, fault) => {
  expect(parseFault(text)).toEqual(fault);
});

test.each([
  ['', 'the first word must be one of token, '],
  ['reports status=500', 'the first word must be one of token, '],
  ['create explode', 'explode'],
  ['create wings=2', 'wings=2'],
  ['create staus=500', 'staus: is no word of a fault (did you mean status?)'],
  ['report=1 nth=2 times=always', 'what happens'],
  ['create nth=first', 'first'],
  ['create nth=0 status=500', 'nth: must be a whole number from 1'],
  ['create hang=1 status', 'status: must be of type string; hang: takes no value'],
  ['create status=500 times=never', 'times: must be a whole number from 1, or always'],
  ['create reset=maybe', 'before, after'],
  ['report retry_after=soon', 'soon'],
])('refuses "%s" and names the problem', (text, named) => {
  expect(() => parseFault(text)).toThrow(TypeError);
  expect(() => parseFault(text)).toThrow(named);
});
