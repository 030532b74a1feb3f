import { expect, test } from 'vitest';
import type { Fault } from '../../../infra/sandbox/faults/fault.ts';
import { parseFault } from '../../../infra/sandbox/faults/parse-fault.ts';

test.each<[string, Fault]>([
  ['GET /reports/{id} nth=2 times=3 status=500', { on: 'report', nth: 2, times: 3, status: 500 }],
  ['POST /oauth2/token omit=expires_in times=always', { on: 'token', omit: ['expires_in'], times: Infinity }],
  ['token set.expires_in="3600"', { on: 'token', set: { expires_in: '3600' } }],
  ['token set.expires_in=-1 set.scope=x', { on: 'token', set: { expires_in: -1, scope: 'x' } }],
  ['create reset=after', { on: 'create', reset: 'after' }],
  ['POST /reports status=500 processed', { on: 'create', status: 500, processed: true }],
  ['report retry_after=120', { on: 'report', retryAfter: { seconds: 120, as: 'seconds' } }],
  ['report retry_after=date:60', { on: 'report', retryAfter: { seconds: 60, as: 'date' } }],
  ['report=2 set.status=FROZEN', { on: 'any', report: 2, set: { status: 'FROZEN' } }],
  ['any body="<p>a b</p>" header.X-A=1', { on: 'any', body: '<p>a b</p>', headers: { 'x-a': '1' } }],
  ['GET /campaigns body=', { on: 'list', path: '/campaigns', body: '' }],
  ['list set.error={"a": [1, 2]}', { on: 'list', set: { error: { a: [1, 2] } } }],
  ['any omit=error.type,error.status', { on: 'any', omit: ['error.type', 'error.status'] }],
  ['any without_header=WWW-Authenticate', { on: 'any', withoutHeaders: ['WWW-Authenticate'] }],
  ['storage cut_after=10 framing=close', { on: 'storage', cutAfter: 10, framing: 'close' }],
  ['storage etag=weak gzip=wrong', { on: 'storage', etag: 'weak', gzip: 'wrong' }],
  [
    'storage reset_after=1 stall_after=2 trickle=3',
    { on: 'storage', resetAfter: 1, stallAfter: 2, trickle: 3 },
  ],
  [
    'storage changed ignore_range endless',
    { on: 'storage', changed: true, ignoreRange: true, endless: true },
  ],
  ['any hang revoke', { on: 'any', hang: true, revoke: true }],
])('reads %s', (text, fault) => {
  expect(parseFault(text)).toEqual(fault);
});

test.each([
  ['', 'empty'],
  ['reports status=500', 'reports status=500'],
  ['PUT /reports status=500', 'PUT /reports'],
  ['create explode', 'explode'],
  ['create wings=2', 'wings=2'],
  ['nonsense', '"nonsense"'],
  ['storage', 'what happens'],
  ['GET /campaigns', 'what happens'],
  ['report=1 nth=2 times=always', 'what happens'],
  ['create nth=first', 'first'],
  ['create nth=0 status=500', 'from 1'],
  ['create times=0 status=500', 'from 1'],
  ['create reset=maybe', 'before, after'],
  ['report retry_after=soon', 'soon'],
])('refuses "%s" and names the problem', (text, named) => {
  expect(() => parseFault(text)).toThrow(TypeError);
  expect(() => parseFault(text)).toThrow(named);
});
