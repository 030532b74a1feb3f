import { JSON_SHAPE_WASM, WINDOW_AT } from './json-shape.wasm.ts';

/**
 * The shape of JSON text as its bytes pass: where strings and brackets begin and end, how many rows there are, and
 * whether it has been seen to close. Values are not parsed; memory is the same whatever the size.
 */
export interface JsonShape {
  /** @returns false once the bytes cannot be the beginning of JSON that holds rows; then there is nothing more to write */
  write(chunk: Uint8Array): boolean;
  /** Whether the text could end here: something was opened, and all of it is closed. */
  closed(): boolean;
  /** Elements of the array, or values where several follow each other (NDJSON); undefined for a single object. */
  rows(): number | undefined;
}

const WINDOW_BYTES = 64 * 1024;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** What json-shape.wat.ts exports. */
interface Scanner {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly depth: { readonly value: number };
  readonly roots: { readonly value: bigint };
  readonly rootIsArray: { readonly value: number };
  readonly commas: { readonly value: bigint };
  readonly filled: { readonly value: number };
  scan(length: number): number;
}

/** As far as we use it: neither Node's types nor those of ES2024 describe it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

let compiled: object | undefined;

export function openJsonShape(): JsonShape {
  compiled ??= new WebAssembly.Module(Buffer.from(JSON_SHAPE_WASM, 'base64'));
  const scanner = new WebAssembly.Instance(compiled).exports as Scanner;
  const window = new Uint8Array(scanner.memory.buffer, WINDOW_AT, WINDOW_BYTES);
  let position = 0;
  let intact = true;

  function write(chunk: Uint8Array): boolean {
    let at = position < BYTE_ORDER_MARK.length ? afterMark(chunk, position) : 0;
    position += chunk.length;
    while (intact && at < chunk.length) {
      const piece = at === 0 && chunk.length <= WINDOW_BYTES ? chunk : chunk.subarray(at, at + WINDOW_BYTES);
      window.set(piece);
      intact = scanner.scan(piece.length) === 1;
      at += piece.length;
    }
    return intact;
  }

  return {
    write,
    closed: () => intact && scanner.roots.value > 0n && scanner.depth.value === 0,
    rows() {
      if (scanner.roots.value > 1n) return Number(scanner.roots.value);
      if (scanner.rootIsArray.value === 0) return undefined;
      return scanner.filled.value === 0 ? 0 : Number(scanner.commas.value) + 1;
    },
  };
}

/** Where the text begins in a chunk; a byte order mark may come in several. */
function afterMark(chunk: Uint8Array, position: number): number {
  let at = 0;
  while (position + at < BYTE_ORDER_MARK.length && chunk[at] === BYTE_ORDER_MARK[position + at]) at++;
  return at;
}
