import { existsSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { temporaryDirectory } from './temporary-directory.ts';

/** As a support module would: this line runs when the file is imported. */
const refused = catchError(() => temporaryDirectory(() => {}));

let ofHook = '';
let ofTest = '';

beforeAll(() => {
  let remove = () => {};
  ofHook = temporaryDirectory((end) => {
    remove = end;
  });
  return () => {
    expect([existsSync(ofHook), existsSync(ofTest)]).toEqual([true, false]);
    remove();
  };
});

function catchError(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return error;
  }
}

it('refuses to create a folder while a module is imported', () => {
  expect(refused).toEqual(new Error('Create a folder in a test or a hook, not when a module is imported'));
});

it('creates a folder for a test, or for as long as a hook wants it', () => {
  ofTest = temporaryDirectory();
  expect([existsSync(ofHook), existsSync(ofTest)]).toEqual([true, true]);
});
