import { expect, test } from 'vitest';
import { clean, cleanSentence, requestIdOf, unreadable } from '../../../functions/platform/answer.ts';

function answer(status: number, header?: string, body = '{"error":{"request_id":"body"}}') {
  const headers = header === undefined ? {} : { 'x-request-id': header };
  return { call: 'GET https://api.example/reports/r', status, headers, secrets: ['s3cret'], text: body };
}

test.each([
  [199, 'body'],
  [200, 'header'],
  [299, 'header'],
  [300, 'body'],
  [500, 'body'],
])('the request_id of an answer %i comes from the %s', (status, id) => {
  expect(requestIdOf(answer(status, 'header'))).toBe(id);
});

test.each([
  ['a success without a header', answer(200)],
  ['a body that is not JSON', answer(502, undefined, '<html>')],
  [
    'an id with a space, which could be an echo',
    answer(500, 'an echo', '{"error":{"request_id":"of this"}}'),
  ],
])('the request_id of %s is absent', (_, given) => {
  expect(requestIdOf(given)).toBe('absent');
});

test('a body without a request_id takes that of a gateway', () => {
  expect(requestIdOf(answer(502, 'gateway-7', '<html>'))).toBe('gateway-7');
});

test('a request_id and a reason are cut after 500 characters', () => {
  const long = 'x'.repeat(100_000);
  expect(requestIdOf(answer(200, long))).toBe('x'.repeat(500));
  expect(unreadable(answer(200), long).reason).toBe('x'.repeat(500));
});

test.each([
  ['s3cret and s3cret, for s3', '[redacted] and [redacted], for s3'],
  ['see https://store.example/a?sig=1&x=2, then', 'see https://store.example/a then'],
  ['see HTTP://store.example/a?sig=1', 'see HTTP://store.example/a'],
  ['<a href="http://store.example/a?sig=1">here</a>', '<a href="http://store.example/a">here</a>'],
  ['http://a.example/?x=1 https://b.example/?y=2', 'http://a.example/ https://b.example/'],
  ['is it https://store.example/a', 'is it https://store.example/a'],
  ['one\r\n\ttwo\u0000\u001b[31mthree\u0085four', 'one two [31mthree four'],
  [`${'x'.repeat(1_995)}s3cret`, `${'x'.repeat(1_995)}[reda`],
])('clean removes secrets, URL queries and control characters: %j', (text, expected) => {
  expect(clean(text, ['', 's3cret'])).toBe(expected);
});

test('a megabyte of URLs is cleaned in little time', () => {
  const began = performance.now();
  cleanSentence('https://'.repeat(130_000), ['s3cret']);
  // Milliseconds; a search of the whole text would take hours.
  expect(performance.now() - began).toBeLessThan(5_000);
});
