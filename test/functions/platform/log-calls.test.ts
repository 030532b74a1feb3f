import { describe, expect, it } from 'vitest';
import type { Answered, Exchange } from '../../../functions/platform/connection.ts';
import { NoAnswer } from '../../../functions/platform/errors.ts';
import { logCalls } from '../../../functions/platform/log-calls.ts';
import type { Log } from '../../../functions/workflow/step.ts';

const answered: Answered = { status: 200, headers: { 'x-request-id': 'req_1' }, secrets: [] };
const asked = { method: 'GET', path: '/campaigns', milliseconds: 12, outcome: answered } as const;

/** What a log is told of an exchange, in order. */
function told(exchange: Partial<Exchange>): unknown[] {
  const calls: unknown[] = [];
  const at =
    (name: string) =>
    (...given: unknown[]) =>
      void calls.push([name, ...given]);
  const log: Log = { info: at('info'), warn: at('warn'), error: at('error'), keep: at('keep') };
  logCalls(log)({ ...asked, ...exchange });
  return calls;
}

describe('a request to the platform', () => {
  it('is one line, and its request id stands on that and every later one', () => {
    expect(told({})).toEqual([
      ['keep', { request_id: 'req_1' }],
      ['info', 'the platform answered', { method: 'GET', path: '/campaigns', status: 200, milliseconds: 12 }],
    ]);
  });

  it.each<[string, Answered, string]>([
    [
      'the envelope’s, before that of a gateway (contract 7.1)',
      { ...answered, status: 500, text: '{"error":{"request_id":"req_2"}}' },
      'req_2',
    ],
    [
      'the gateway’s, of an answer that is no envelope',
      { ...answered, status: 502, text: '<html>' },
      'req_1',
    ],
    ['said to be absent where nobody named one', { ...answered, headers: {} }, 'absent'],
  ])('has the request id that is %s', (_, outcome, request_id) => {
    const { status } = outcome;
    expect(told({ outcome })).toEqual([
      ['keep', { request_id }],
      ['info', 'the platform answered', { method: 'GET', path: '/campaigns', status, milliseconds: 12 }],
    ]);
  });

  it('is a warning where nobody answered, with what became of the connection', () => {
    const outcome = new NoAnswer('POST https://api.example/reports', true, 'ECONNRESET');
    const about = { method: 'POST', path: '/reports' } as const;
    expect(told({ ...about, outcome })).toEqual([
      ['warn', 'the platform did not answer', { ...about, code: 'ECONNRESET', milliseconds: 12 }],
    ]);
  });

  it.each<[string, Pick<Exchange, 'method' | 'path'>, string | undefined]>([
    ['names the report that it looks at', { method: 'GET', path: '/reports/r-1' }, 'r-1'],
    ['names it as the platform does', { method: 'GET', path: '/reports/a%2Fb%20c' }, 'a/b c'],
    ['names none where it creates one', { method: 'POST', path: '/reports' }, undefined],
    ['takes no query for a report', { method: 'POST', path: '/reports/purchases' }, undefined],
    ['takes no longer path for a report', { method: 'GET', path: '/reports/r-1/rows' }, undefined],
    ['takes no other path for a report', { method: 'GET', path: '/v2/reports/r-1' }, undefined],
    ['takes no list of reports for a report', { method: 'GET', path: '/reports/' }, undefined],
  ])('%s', (_, about, report_id) => {
    const named = { ...about, ...(report_id !== undefined && { report_id }) };
    expect(told(about).at(-1)).toStrictEqual([
      'info',
      'the platform answered',
      { ...named, status: 200, milliseconds: 12 },
    ]);
    const outcome = new NoAnswer('x', true, 'ECONNRESET');
    expect(told({ ...about, outcome }).at(-1)).toStrictEqual([
      'warn',
      'the platform did not answer',
      { ...named, code: 'ECONNRESET', milliseconds: 12 },
    ]);
  });
});
