import { expect, test } from 'vitest';
import wabt from 'wabt';
import {
  CLOSERS_AT,
  DEPTH_MAX,
  JSON_SHAPE_WAT,
  OPEN_AT,
  WINDOW_AT,
} from '../../../functions/copy/json-shape.wat.ts';

test('json-shape.wasm.ts is what json-shape.wat.ts compiles to', async () => {
  const { parseWat } = await wabt();
  const module = parseWat('json-shape.wat', JSON_SHAPE_WAT, { simd: true });
  module.validate();
  const base64 = Buffer.from(module.toBinary({}).buffer).toString('base64');
  const lines = base64.match(/.{1,100}/g)?.map((line) => `  '${line}',`) ?? [];
  const file = `// Written by test/functions/aws/json-shape-wasm.test.ts from json-shape.wat.ts.

export const DEPTH_MAX = ${DEPTH_MAX};
export const OPEN_AT = ${OPEN_AT};
export const CLOSERS_AT = ${CLOSERS_AT};
export const WINDOW_AT = ${WINDOW_AT};

export const JSON_SHAPE_WASM = [
${lines.join('\n')}
].join('');
`;
  await expect(file).toMatchFileSnapshot('../../../functions/aws/copy/json-shape.wasm.ts');
});
