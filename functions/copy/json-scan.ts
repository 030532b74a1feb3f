import { CLOSERS_AT, JSON_SHAPE_WASM, OPEN_AT, WINDOW_AT } from './json-shape.wasm.ts';

/**
 * What a scan of some bytes found, wherever in a text they stand. Their floor is the lowest level they reach. The text's
 * own level 0 can only be the floor, and the level of its rows only the floor or one above it.
 */
export interface Scanned {
  /** `[` and `{` that are open at the end. */
  readonly open: string;
  /** `]` and `}` that closed what was opened before the first byte. */
  readonly closers: string;
  /** The deepest level reached, counted from where the bytes begin. */
  readonly highest: number;
  /** Brackets opened on the floor, and whether the last of them is an array's. */
  readonly roots: number;
  readonly rootIsArray: boolean;
  /** Commas on the floor and one above it. */
  readonly commas: readonly [number, number];
  /** Whether something else than space and brackets is on the floor; whether anything is one above it. */
  readonly filled: readonly [boolean, boolean];
  readonly inString: boolean;
  /** Whether the next byte is escaped. */
  readonly escapes: boolean;
}

export const NOTHING_SCANNED: Scanned = {
  open: '',
  closers: '',
  highest: 0,
  roots: 0,
  rootIsArray: false,
  commas: [0, 0],
  filled: [false, false],
  inString: false,
  escapes: false,
};

export interface JsonScan {
  /** @returns false once the bytes cannot be of JSON; then it must not be called again */
  write(chunk: Uint8Array): boolean;
  /** Whether the floor is where the scan began, with nothing on it: so it must be where the text begins. */
  stands(): boolean;
  scanned(): Scanned;
}

const WINDOW_BYTES = 64 * 1024;

interface Global<T> {
  value: T;
}

/** What json-shape.wat.ts exports. */
interface Scanner {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly depth: Global<number>;
  readonly closers: Global<number>;
  readonly highest: Global<number>;
  readonly roots: Global<bigint>;
  readonly rootIsArray: Global<number>;
  readonly floorCommas: Global<bigint>;
  readonly commas: Global<bigint>;
  readonly floorFilled: Global<number>;
  readonly filled: Global<number>;
  readonly inString: Global<bigint>;
  readonly escapes: Global<bigint>;
  scan(length: number): number;
}

/** As far as we use it: neither Node's types nor those of ES2024 describe it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

let compiled: object | undefined;

/** @param from what was scanned of the bytes before */
export function openJsonScan(from: Scanned): JsonScan {
  compiled ??= new WebAssembly.Module(Buffer.from(JSON_SHAPE_WASM, 'base64'));
  const scanner = new WebAssembly.Instance(compiled).exports as Scanner;
  const memory = Buffer.from(scanner.memory.buffer);
  const window = memory.subarray(WINDOW_AT, WINDOW_AT + WINDOW_BYTES);
  load(scanner, memory, from);
  return {
    write(chunk) {
      for (let at = 0; at < chunk.length; at += WINDOW_BYTES) {
        const piece = chunk.length <= WINDOW_BYTES ? chunk : chunk.subarray(at, at + WINDOW_BYTES);
        window.set(piece);
        if (scanner.scan(piece.length) === 0) return false;
      }
      return true;
    },
    stands: () => scanner.closers.value === 0 && scanner.floorFilled.value === 0,
    scanned: () => read(scanner, memory),
  };
}

function load(scanner: Scanner, memory: Buffer, from: Scanned): void {
  scanner.depth.value = memory.write(from.open, OPEN_AT, 'latin1');
  scanner.closers.value = memory.write(from.closers, CLOSERS_AT, 'latin1');
  scanner.highest.value = from.highest;
  scanner.roots.value = BigInt(from.roots);
  scanner.rootIsArray.value = Number(from.rootIsArray);
  [scanner.floorCommas.value, scanner.commas.value] = [BigInt(from.commas[0]), BigInt(from.commas[1])];
  [scanner.floorFilled.value, scanner.filled.value] = [Number(from.filled[0]), Number(from.filled[1])];
  scanner.inString.value = from.inString ? -1n : 0n;
  scanner.escapes.value = from.escapes ? 1n : 0n;
}

function read(scanner: Scanner, memory: Buffer): Scanned {
  return {
    open: memory.toString('latin1', OPEN_AT, OPEN_AT + scanner.depth.value),
    closers: memory.toString('latin1', CLOSERS_AT, CLOSERS_AT + scanner.closers.value),
    highest: scanner.highest.value,
    roots: Number(scanner.roots.value),
    rootIsArray: scanner.rootIsArray.value === 1,
    commas: [Number(scanner.floorCommas.value), Number(scanner.commas.value)],
    filled: [scanner.floorFilled.value === 1, scanner.filled.value === 1],
    inString: scanner.inString.value !== 0n,
    escapes: scanner.escapes.value !== 0n,
  };
}

/** Short, however deep: at most 700 characters. */
export function pack({ open, closers, ...scanned }: Scanned): object {
  return { ...scanned, open: packBrackets(open), closers: packBrackets(closers) };
}

export function unpack(packed: object): Scanned {
  const { open, closers, ...scanned } = packed as Scanned;
  return { ...scanned, open: unpackBrackets(open, ['[', '{']), closers: unpackBrackets(closers, [']', '}']) };
}

/** A bit for each, behind a first 1 that keeps the zeros; hexadecimal. */
function packBrackets(brackets: string): string {
  return BigInt(`0b1${brackets.replaceAll(/[[\]]/g, '0').replaceAll(/[{}]/g, '1')}`).toString(16);
}

function unpackBrackets(packed: string, [square, curly]: [string, string]): string {
  return BigInt(`0x${packed}`).toString(2).slice(1).replaceAll('0', square).replaceAll('1', curly);
}
