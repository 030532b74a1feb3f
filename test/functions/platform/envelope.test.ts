import { expect, test } from 'vitest';
import { oauthError, platformError, requestIdOf, unreadable } from '../../../functions/platform/envelope.ts';

const CALL = 'GET https://api.example/reports/r';

/** The error that is read from an answer with this body. */
function errorOf(status: number, body: unknown, secrets: readonly string[] = []) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return platformError({ call: CALL, status, headers: {}, secrets, text, truncated: false }, 0);
}

/** The error that is read from an envelope with this message. */
const reasonOf = (message: string, secrets?: readonly string[]) =>
  errorOf(500, { error: { message } }, secrets).reason;

function answer(status: number, header?: string) {
  return {
    call: CALL,
    status,
    headers: header === undefined ? {} : { 'x-request-id': header },
    secrets: [],
    text: '{"error":{"request_id":"of-the-envelope"}}',
  };
}

test.each([
  [199, 'of-the-envelope'],
  [200, 'of-the-header'],
  [299, 'of-the-header'],
  [300, 'of-the-envelope'],
  [500, 'of-the-envelope'],
])('the request_id of an answer %i is that %s: an envelope belongs to a failure', (status, id) => {
  expect(requestIdOf(answer(status, 'of-the-header'))).toBe(id);
});

test('a success without a header has none', () => {
  expect(requestIdOf(answer(200))).toBe('absent');
});

test('what a platform may write without end is cut: a sentence after 500 characters, a detail after 2,000', () => {
  const long = 'x'.repeat(100_000);
  const sentence = 'x'.repeat(500);
  const detail = 'x'.repeat(2_000);
  expect(requestIdOf(answer(200, long))).toBe(sentence);
  expect(requestIdOf(answer(200, sentence))).toBe(sentence);
  expect(unreadable(answer(200), long).reason).toBe(sentence);
  const error = errorOf(500, {
    error: { type: long, message: long, request_id: long, doc_url: long, detail: long },
  });
  const { type, reason, requestId, docUrl } = error;
  expect([type, reason, requestId, docUrl]).toEqual([sentence, sentence, sentence, sentence]);
  expect(error.detail).toBe(detail);
  expect(errorOf(500, { error: { detail: [long] } }).detail).toBe(`["${detail}`.slice(0, 2_000));
});

test.each([
  [299, undefined],
  [300, 'redirects are not followed'],
  [399, 'redirects are not followed'],
  [400, undefined],
  [500, undefined],
])('an answer %i without a message has the reason %s', (status, reason) => {
  expect(errorOf(status, '').reason).toBe(reason);
});

test('contract 7.1: a number where a text is promised is read as text, and anything else is absent', () => {
  const error = { type: 7, message: 0, request_id: 12, doc_url: true };
  expect(errorOf(422, { error })).toMatchObject({
    type: '7',
    reason: '0',
    requestId: '12',
    docUrl: undefined,
  });
  expect(errorOf(422, { error: { type: ['x'], message: {}, request_id: '' } })).toMatchObject({
    ...{ type: 'absent', reason: undefined, requestId: 'absent' },
  });
});

test('contract 7.1: a field that is null leaves the others as they are', () => {
  const error = { type: 'validation', message: null, request_id: 'r1', detail: null, doc_url: null };
  expect({ ...errorOf(422, { error }) }).toEqual({
    ...{ name: 'PlatformError', status: 422, type: 'validation', requestId: 'r1', reason: undefined },
    ...{ detail: undefined, validation: [], docUrl: undefined, retryAfterSeconds: undefined },
  });
});

test.each([
  ['of the API', { error: { type: 'validation', message: 'No grant_type.', request_id: 'r1' } }, 'r1'],
  ['of OAuth', { error: 'validation', error_description: 'No grant_type.', request_id: 'r1' }, 'absent'],
])('contract 7.3: the token endpoint may answer with the body %s', (_, body, requestId) => {
  const text = JSON.stringify(body);
  const { status, error, errorDescription, ...rest } = oauthError({
    ...{ call: CALL, status: 400, headers: {}, secrets: [], text, truncated: false },
  });
  expect([status, error, errorDescription]).toEqual([400, 'validation', 'No grant_type.']);
  expect(rest.requestId).toBe(requestId);
});

test('a secret is taken out wherever it stands, and an empty one takes out nothing', () => {
  expect(reasonOf('s3cret and s3cret, for s3', ['', 's3cret'])).toBe('[redacted] and [redacted], for s3');
});

test('a secret that the cut would go through is taken out before the cut', () => {
  const error = errorOf(500, { error: { detail: `${'x'.repeat(1_995)}s3cret` } }, ['s3cret']);
  expect(error.detail).toBe(`${'x'.repeat(1_995)}[reda`);
});

test.each([
  ['see https://store.example/a?sig=1&x=2, then', 'see https://store.example/a then'],
  ['see HTTP://store.example/a?sig=1', 'see HTTP://store.example/a'],
  ['<a href="http://store.example/a?sig=1">here</a>', '<a href="http://store.example/a">here</a>'],
  ['http://a.example/?x=1 https://b.example/?y=2', 'http://a.example/ https://b.example/'],
  ['is it https://store.example/a', 'is it https://store.example/a'],
])('a URL has no query: %s', (message, reason) => {
  expect(reasonOf(message)).toBe(reason);
});

test('line breaks and other control characters in a row are one space', () => {
  expect(reasonOf('one\r\n\ttwo\u0000\u001b[31mthree\u0085four')).toBe('one two [31mthree four');
});
