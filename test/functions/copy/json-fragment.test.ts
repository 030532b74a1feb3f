import fc from 'fast-check';
import { expect, test } from 'vitest';
import { joinJson, openJsonFragment } from '../../../functions/copy/json-fragment.ts';
import { openJsonShape } from '../../../functions/copy/json-shape.ts';

const MARK = Buffer.from('\ufeff');

const pieces = fc.array(fc.string({ unit: fc.constantFrom(...'[]{}",\\ a\n') }), { maxLength: 8 });
const soup = pieces.map((words) => words.join(''));
const json = fc
  .tuple(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 1))
  .map(([values, indent]) => JSON.stringify(values, null, indent));
const lines = fc
  .array(fc.dictionary(fc.string(), fc.jsonValue()))
  .map((values) => values.map((value) => `${JSON.stringify(value)}\n`).join(''));
const slashes = fc
  .array(fc.array(fc.string({ unit: fc.constantFrom(...'\\"[,') })))
  .map((values) => JSON.stringify(values));
const deep = fc
  .tuple(fc.integer({ min: 1020, max: 1027 }), fc.integer({ min: 1020, max: 1027 }))
  .map(([opened, closed]) => `${'['.repeat(opened)}1,2${']'.repeat(closed)}`);
const whole = fc.oneof(json, lines, slashes, deep, soup);
/** One character more, less, or another. */
const broken = fc
  .tuple(whole, fc.nat(), fc.constantFrom(0, 1), fc.constantFrom('', ...'[]{}",\\ a'))
  .map(([text, at, gone, put]) => {
    const place = at % (text.length + 1);
    return text.slice(0, place) + put + text.slice(place + gone);
  });
const texts = fc
  .tuple(fc.constantFrom(0, 0, 0, 3, 3, 1, 2), fc.oneof(whole, broken))
  .map(([marked, text]) => Buffer.concat([MARK.subarray(0, marked), Buffer.from(text)]));
const cuts = fc.array(fc.nat(), { maxLength: 7 });
const chunking = fc.integer({ min: 1, max: 200 });

test('a shape finds what a scan byte by byte does', () => {
  fc.assert(
    fc.property(texts, chunking, (text, size) => {
      const shape = openJsonShape();
      const intact = chunks(text, size).every((chunk) => shape.write(chunk));
      const found = intact ? { closed: shape.closed(), rows: shape.rows() } : 'not JSON';
      expect(found).toEqual(byteByByte(text));
    }),
    { numRuns: 1_000 },
  );
});

test('a shape saved after any byte goes on in another process', () => {
  fc.assert(
    fc.property(texts, chunking, (text, size) => {
      const saved = scanBeginning(text, size, true);
      expect(saved).toMatch(/^[ -~]{1,999}$/);
      expect(joined(saved, [])).toEqual(byteByByte(text));
    }),
    { numRuns: 500 },
  );
});

test('fragments scanned side by side join to what one scan finds', () => {
  fc.assert(
    fc.property(texts, cuts, chunking, fc.boolean(), (text, at, size, isSaved) => {
      const [first = Buffer.of(), ...rest] = cutAt(text, at);
      const beginning = scanBeginning(first, size, isSaved);
      const fragments = rest.map((bytes) => scanFragment(bytes, size, isSaved));
      expect(joined(beginning, fragments)).toEqual(byteByByte(text));
    }),
    { numRuns: 400 },
  );
});

test.each([
  [['[  ', '1', ']'], 1],
  [['[  ', '{}', ']'], 1],
  [['[  ', ' ', ']'], 0],
  [['[1,', '2', ', 3', ',{}]'], 4],
  [['["\\', '"', '"]'], 1],
  [['{} ', '{}', '[]'], 3],
])('%j joined are %i rows', (parts, rows) => {
  const [first = '', ...rest] = parts;
  const fragments = rest.map((text) => scanFragment(Buffer.from(text), 1, false));
  const beginning = scanBeginning(Buffer.from(first), 1, false);
  expect(joinJson(beginning, fragments)).toEqual({ closed: true, rows });
});

test('a fragment is saved in under 2 kB, however deep it goes', () => {
  const fragment = openJsonFragment();
  const deepest = `[]${']'.repeat(1024)}${'['.repeat(1024)}`;
  fragment.write(Buffer.from(`${deepest}"${deepest}`));
  expect(fragment.save()).toMatch(/^[ -~]{1,1999}$/);
  expect(openJsonFragment(fragment.save()).save()).toBe(fragment.save());
});

test('a fragment that cannot be of JSON is refused before it is joined', () => {
  expect(openJsonFragment().write(Buffer.from('[}"[}'))).toBe(false);
  expect(openJsonFragment().write(Buffer.from('[}"[]'))).toBe(true);
});

/** As long as the mark: the first holds three bytes at least. */
function cutAt(text: Buffer, at: number[]): Buffer[] {
  const places = at.map((place) => Math.min(text.length, 3 + (place % (text.length + 1))));
  const sorted = [0, ...places.sort((a, b) => a - b), text.length];
  return sorted.slice(1).map((end, n) => text.subarray(sorted[n], end));
}

function chunks(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
    bytes.subarray(n * size, (n + 1) * size),
  );
}

/** Saved in between, after the first chunk, or only at the end. */
function scanBeginning(bytes: Buffer, size: number, isSaved: boolean): string {
  let shape = openJsonShape();
  for (const [at, chunk] of chunks(bytes, size).entries()) {
    if (!shape.write(chunk)) return 'not JSON';
    if (isSaved && at === 0) shape = openJsonShape(shape.save());
  }
  return shape.save();
}

function joined(beginning: string, fragments: string[]) {
  return beginning === 'not JSON' ? beginning : joinJson(beginning, fragments);
}

function scanFragment(bytes: Buffer, size: number, isSaved: boolean): string {
  let fragment = openJsonFragment();
  for (const [at, chunk] of chunks(bytes, size).entries()) {
    fragment.write(chunk);
    if (isSaved && at === 0) fragment = openJsonFragment(fragment.save());
  }
  return fragment.save();
}

/** The same in the plainest way: one byte at a time, the whole text at hand. */
function byteByByte(text: Buffer): ReturnType<typeof joinJson> {
  const isMarked = text.subarray(0, 3).equals(MARK.subarray(0, text.length));
  const body = text.subarray(isMarked ? 3 : 0);
  const open: string[] = [];
  let [roots, commas, isArray, isFilled, inString, isEscaped] = [0, 0, false, false, false, false];
  for (const byte of body.toString('latin1')) {
    const isBracket = !inString && '[]{}'.includes(byte);
    if (isBracket && '[{'.includes(byte)) {
      if (open.length === 0) [roots, isArray] = [roots + 1, byte === '['];
      isFilled ||= open.length === 1;
      if (open.push(byte) > 1024) return 'not JSON';
    } else if (isBracket) {
      if (open.pop() !== (byte === ']' ? '[' : '{')) return 'not JSON';
    } else if (inString || !' \n\r\t'.includes(byte)) {
      if (open.length === 0) return 'not JSON';
      isFilled ||= open.length === 1;
      if (!inString && byte === ',' && open.length === 1) commas++;
    }
    if (byte === '"' && !isEscaped) inString = !inString;
    isEscaped = byte === '\\' && !isEscaped;
  }
  const ofArray = isFilled ? commas + 1 : 0;
  const rows = roots > 1 ? roots : isArray ? ofArray : undefined;
  return { closed: roots > 0 && open.length === 0, rows };
}
