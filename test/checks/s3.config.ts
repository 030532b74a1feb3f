import { defineConfig } from 'vitest/config';
import standard from '../../vitest.config.ts';

/** Our calls of S3, and what the local S3 promises, against an S3 server that somebody else wrote. */
export default defineConfig({
  test: {
    ...standard.test,
    include: [
      'test/functions/aws/objects.test.ts',
      'test/functions/copy/{copy,object-writer,upload}.test.ts',
      'test/functions/tables/months.test.ts',
      'test/functions/token/lease.test.ts',
      'test/infra/lab/local/s3/{objects,uploads}.test.ts',
      'test/checks/{empty-bucket,download-url}.check.ts',
    ],
    exclude: [],
    globalSetup: ['test/support/temporary-folder-guard.ts', 'test/support/versitygw.ts'],
  },
});
