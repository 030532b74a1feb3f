import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { DOCUMENT_NAMES, schemaOf } from '../support/schemas.ts';

it.each(
  DOCUMENT_NAMES,
)('the published schema %s is the one of the code: npm run schemas writes it', async (name) => {
  const file = fileURLToPath(new URL(`../../functions/schemas/${name}.json`, import.meta.url));
  await expect(`${JSON.stringify(schemaOf(name), undefined, 2)}\n`).toMatchFileSnapshot(file);
});
