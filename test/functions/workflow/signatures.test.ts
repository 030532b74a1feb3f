import { expect, it } from 'vitest';
import { removeSignatures } from '../../../functions/workflow/signatures.ts';

it.each([
  ['without a protocol', 'storage.example/1.gz?X-Amz-Signature=leaked'],
  ['of another protocol', 's3://bucket/1.gz?X-Amz-Signature=leaked'],
  ['in JSON', String.raw`{"url":"https:\/\/storage.example\/1.gz?X-Amz-Signature=leaked"}`],
  ['that is encoded', encodeURIComponent('https://storage.example/1.gz?X-Amz-Signature=leaked&a=1')],
  ['with a space in its query', 'https://storage.example/1.gz?name=a b&X-Amz-Signature=leaked'],
  ['in capitals', 'HTTPS://storage.example/1.gz?leaked'],
  ['with a fragment', 'https://storage.example/1.gz#signature=leaked'],
])('11: text about a URL %s has no signature', (_, text) => {
  const cleaned = removeSignatures(`No file: ${text}`);
  expect(cleaned).not.toContain('leaked');
  expect(cleaned).toContain('1.gz');
});
