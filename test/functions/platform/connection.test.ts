import { expect, test } from 'vitest';
import { endpoint, segment } from '../../../functions/platform/connection.ts';

test.each([
  ['https://api.example', 'https://api.example/reports'],
  ['https://api.example/v1', 'https://api.example/v1/reports'],
  ['https://api.example/v1//', 'https://api.example/v1/reports'],
  ['https://api.example/v1?a=b#c', 'https://api.example/v1/reports'],
])('the endpoint /reports of %s is %s', (baseUrl, url) => {
  expect(endpoint(baseUrl, '/reports').href).toBe(url);
});

test('segment encodes any text except the two dot segments, which it refuses by name', () => {
  expect(segment('a/b?c')).toBe('a%2Fb%3Fc');
  expect(() => segment('..')).toThrow('".." cannot be a segment of a path');
});
