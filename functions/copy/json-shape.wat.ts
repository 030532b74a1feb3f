// The inner loop of json-shape.ts, as WebAssembly text: 64 bytes at a step with SIMD, ten times as fast as a loop over
// bytes in JavaScript, which alone would cost more CPU than all the rest of a copy. Nothing of this file is loaded where
// the copy runs: json-shape.wasm.ts holds what it compiles to, and test/functions/aws/json-shape-wasm.test.ts compiles it again
// (with `vitest -u` it writes json-shape.wasm.ts).
//
// In a 64-bit mask, bit n stands for byte n of the step. A string is what lies between two unescaped quotes: the running
// xor of the quotes' mask (Langdale and Lemire, "Parsing Gigabytes of JSON per Second", 2019). What is left outside
// strings is looked at bracket by bracket; there are few.
//
// The scan may begin in the middle of a text, so the depth is counted from the floor: the lowest level seen so far. Only
// what stands on the floor and one level above can be the text's own level 0 and the elements of its root.

/** Deeper than any report; the stack of open brackets must not grow with what a server sends. */
export const DEPTH_MAX = 1024;
/** Where the open brackets stand in memory, each one byte. */
export const OPEN_AT = 0;
/** Where the brackets stand that closed what was opened before the first byte. */
export const CLOSERS_AT = OPEN_AT + DEPTH_MAX;
/** Where the bytes to scan stand: after both. */
export const WINDOW_AT = 4096;
const MEMORY_PAGES = 2; // of 64 KiB: the brackets, a window of 64 KiB, and the rest of a last step behind it

const byte = (text: string) => `(i32.const ${text.charCodeAt(0)})`;
const splat = (text: string) => `(i8x16.splat ${byte(text)})`;

/** Kept in locals: in the loop, a constant vector would be made anew at each step. */
const HELD: Readonly<Record<string, string>> = {
  '"': '$quote',
  '\\': '$slash',
  ' ': '$blank',
  '{': '$open',
  '}': '$close',
};
const vector = (text: string) => (HELD[text] ? `(local.get ${HELD[text]})` : splat(text));
const declareHeld = Object.values(HELD)
  .map((name) => `(local ${name} v128)`)
  .join(' ');
const setHeld = Object.entries(HELD)
  .map(([text, name]) => `(local.set ${name} ${splat(text)})`)
  .join(' ');

/** The mask of the bytes for which `test`, given 16 of them, is true. */
function mask(test: (bytes: string) => string): string {
  const quarter = (n: number) => {
    const bits = `(i64.extend_i32_u (i8x16.bitmask ${test(`(local.get $v${n})`)}))`;
    return n === 0 ? bits : `(i64.shl ${bits} (i64.const ${16 * n}))`;
  };
  const [a, b, c, d] = [0, 1, 2, 3].map(quarter);
  return `(i64.or (i64.or ${a} ${b}) (i64.or ${c} ${d}))`;
}

const equal = (text: string) => (bytes: string) => `(i8x16.eq ${bytes} ${vector(text)})`;

/** '[' and '{', ']' and '}' differ from each other by one bit, 0x20. */
const bracket = (bytes: string) => {
  const folded = `(v128.or ${bytes} ${vector(' ')})`;
  return `(v128.or (i8x16.eq ${folded} ${vector('{')}) (i8x16.eq ${folded} ${vector('}')}))`;
};

const space = (bytes: string) =>
  [' ', '\n', '\r', '\t'].map((text) => equal(text)(bytes)).reduce((a, b) => `(v128.or ${a} ${b})`);

const runningXor = [1, 2, 4, 8, 16, 32]
  .map(
    (n) =>
      `(local.set $strings (i64.xor (local.get $strings) (i64.shl (local.get $strings) (i64.const ${n}))))`,
  )
  .join('\n');

const isTop = '(i32.eq (global.get $depth) (i32.const 1))';
const isFloor = '(i32.eqz (global.get $depth))';
const broken = '(return (i32.const 0))';

/** Looks at the bytes of a step that lie between two brackets. */
const lookBetween = `
  (if (i32.lt_u (global.get $depth) (i32.const 2)) (then
    (if (i64.eqz (local.get $hasCommas)) (then
      (local.set $hasCommas (i64.const 1))
      (local.set $commas (i64.and ${mask(equal(','))} (local.get $outside)))))
    (local.set $count (i64.popcnt (i64.and (local.get $commas) (local.get $between))))
    (if ${isFloor}
      (then (global.set $floorCommas (i64.add (global.get $floorCommas) (local.get $count))))
      (else (global.set $commas (i64.add (global.get $commas) (local.get $count)))))
    (if (i32.eqz (select (global.get $floorFilled) (global.get $filled) ${isFloor})) (then
      (if (i64.ne (i64.const 0) (i64.and (local.get $between) (i64.xor (i64.const -1) ${mask(space)}))) (then
        (if ${isFloor} (then (global.set $floorFilled (i32.const 1))) (else (global.set $filled (i32.const 1))))))))))`;

/** A bracket closes what was opened before the first byte: what was the floor is now one above it. */
const lowerFloor = `
  (if (i32.eq (global.get $closers) (i32.const ${DEPTH_MAX})) (then ${broken}))
  (i32.store8 offset=${CLOSERS_AT} (global.get $closers) (local.get $byte))
  (global.set $closers (i32.add (global.get $closers) (i32.const 1)))
  (global.set $commas (global.get $floorCommas))
  (global.set $filled (i32.or (global.get $floorFilled) (i64.ne (global.get $roots) (i64.const 0))))
  (global.set $floorCommas (i64.const 0))
  (global.set $floorFilled (i32.const 0))
  (global.set $roots (i64.const 0))
  (global.set $rootIsArray (i32.const 0))`;

export const JSON_SHAPE_WAT = `(module
  (memory (export "memory") ${MEMORY_PAGES})
  ;; brackets that are open, and those that closed what was opened before the first byte
  (global $depth (export "depth") (mut i32) (i32.const 0))
  (global $closers (export "closers") (mut i32) (i32.const 0))
  ;; the deepest level reached, counted from where the scan began
  (global $highest (export "highest") (mut i32) (i32.const 0))
  ;; on the floor: the brackets opened, whether the last was an array's, the commas, whether anything but brackets and space is there
  (global $roots (export "roots") (mut i64) (i64.const 0))
  (global $rootIsArray (export "rootIsArray") (mut i32) (i32.const 0))
  (global $floorCommas (export "floorCommas") (mut i64) (i64.const 0))
  (global $floorFilled (export "floorFilled") (mut i32) (i32.const 0))
  ;; one above it: the commas, and whether anything is there
  (global $commas (export "commas") (mut i64) (i64.const 0))
  (global $filled (export "filled") (mut i32) (i32.const 0))
  ;; all ones inside a string
  (global $inString (export "inString") (mut i64) (i64.const 0))
  ;; 1 if the next byte is escaped
  (global $escapes (export "escapes") (mut i64) (i64.const 0))

  ;; Goes on with $length bytes of the window. 0 if they cannot be of JSON; then it must not be called again.
  (func (export "scan") (param $length i32) (result i32)
    (local $at i32) (local $end i32) (local $bytes i32) (local $byte i32)
    (local $v0 v128) (local $v1 v128) (local $v2 v128) (local $v3 v128)
    (local $valid i64) (local $slashes i64) (local $codes i64) (local $escaped i64) (local $strings i64)
    (local $outside i64) (local $brackets i64) (local $rest i64) (local $between i64) (local $below i64)
    (local $commas i64) (local $hasCommas i64) (local $count i64) ${declareHeld}
    ${setHeld}
    (local.set $at (i32.const ${WINDOW_AT}))
    (local.set $end (i32.add (i32.const ${WINDOW_AT}) (local.get $length)))
    (loop $steps
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (i32.const 1))))
      (local.set $bytes (i32.sub (local.get $end) (local.get $at)))
      (local.set $valid (i64.const -1))
      (if (i32.lt_u (local.get $bytes) (i32.const 64))
        (then (local.set $valid (i64.shr_u (i64.const -1) (i64.extend_i32_u (i32.sub (i32.const 64) (local.get $bytes))))))
        (else (local.set $bytes (i32.const 64))))
      (local.set $v0 (v128.load (local.get $at)))
      (local.set $v1 (v128.load offset=16 (local.get $at)))
      (local.set $v2 (v128.load offset=32 (local.get $at)))
      (local.set $v3 (v128.load offset=48 (local.get $at)))

      ;; Which bytes are escaped: those after a run of backslashes of odd length (simdjson's subtraction).
      (local.set $escaped (global.get $escapes))
      (global.set $escapes (i64.const 0))
      (if (v128.any_true (v128.or
            (v128.or ${equal('\\')('(local.get $v0)')} ${equal('\\')('(local.get $v1)')})
            (v128.or ${equal('\\')('(local.get $v2)')} ${equal('\\')('(local.get $v3)')})))
        (then
          (local.set $slashes (i64.and ${mask(equal('\\'))} (local.get $valid)))
          (local.set $codes (i64.and (local.get $slashes) (i64.xor (local.get $escaped) (i64.const -1))))
          (local.set $codes (i64.xor (i64.const 0xaaaaaaaaaaaaaaaa) (i64.sub
            (i64.or (i64.shl (local.get $codes) (i64.const 1)) (i64.const 0xaaaaaaaaaaaaaaaa)) (local.get $codes))))
          (local.set $escaped (i64.xor (local.get $codes) (i64.or (local.get $slashes) (local.get $escaped))))
          (global.set $escapes (i64.and (i64.const 1) (i64.shr_u
            (i64.and (local.get $codes) (local.get $slashes))
            (i64.extend_i32_u (i32.sub (local.get $bytes) (i32.const 1))))))))

      (local.set $strings (i64.and (i64.and ${mask(equal('"'))} (local.get $valid))
        (i64.xor (local.get $escaped) (i64.const -1))))
      ${runningXor}
      (local.set $strings (i64.xor (local.get $strings) (global.get $inString)))
      (global.set $inString (i64.shr_s (local.get $strings) (i64.const 63)))
      (local.set $outside (i64.and (local.get $valid) (i64.xor (local.get $strings) (i64.const -1))))

      (local.set $hasCommas (i64.const 0))
      (local.set $rest (local.get $valid))
      (local.set $brackets (i64.and ${mask(bracket)} (local.get $outside)))
      (block $done (loop $next
        (br_if $done (i64.eqz (local.get $brackets)))
        (local.set $below (i64.sub (i64.and (local.get $brackets) (i64.sub (i64.const 0) (local.get $brackets))) (i64.const 1)))
        (local.set $between (i64.and (local.get $rest) (local.get $below)))
        ${lookBetween}
        (local.set $byte (i32.load8_u (i32.add (local.get $at) (i32.wrap_i64 (i64.ctz (local.get $brackets))))))
        (if (i32.eq (i32.or (local.get $byte) ${byte(' ')}) ${byte('{')})
          (then
            (if ${isFloor} (then
              (global.set $roots (i64.add (global.get $roots) (i64.const 1)))
              (global.set $rootIsArray (i32.eq (local.get $byte) ${byte('[')}))))
            (if ${isTop} (then (global.set $filled (i32.const 1))))
            (if (i32.eq (global.get $depth) (i32.const ${DEPTH_MAX})) (then ${broken}))
            (i32.store8 offset=${OPEN_AT} (global.get $depth) (local.get $byte))
            (global.set $depth (i32.add (global.get $depth) (i32.const 1)))
            (if (i32.gt_s (i32.sub (global.get $depth) (global.get $closers)) (global.get $highest)) (then
              (global.set $highest (i32.sub (global.get $depth) (global.get $closers))))))
          (else
            (if ${isFloor}
              (then ${lowerFloor})
              (else
                (global.set $depth (i32.sub (global.get $depth) (i32.const 1)))
                ;; each closing bracket is two characters behind its opening one
                (if (i32.ne (i32.load8_u offset=${OPEN_AT} (global.get $depth)) (i32.sub (local.get $byte) (i32.const 2)))
                  (then ${broken}))))))
        (local.set $rest (i64.and (local.get $valid) (i64.xor (i64.const -1)
          (i64.or (local.get $below) (i64.add (local.get $below) (i64.const 1))))))
        (local.set $brackets (i64.and (local.get $brackets) (i64.sub (local.get $brackets) (i64.const 1))))
        (br $next)))
      (local.set $between (local.get $rest))
      ${lookBetween}
      (local.set $at (i32.add (local.get $at) (i32.const 64)))
      (br $steps))
    (unreachable)))
`;
