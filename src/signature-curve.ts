// Ed25519 for signers that sign much: what OpenSSL computes for every signature anew is kept in
// tables, one per key, in a WASM module of each thread. Answers exactly as OpenSSL does: S below
// the order, no cofactor, R compared as bytes. test/signature-curve.test.ts holds them together.
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { INPUT, OUTPUT, RESULTS_MAX, TABLES } from "../assembly/ed25519/layout.ts";

/** One signature; `key` is 32 bytes, `signature` 64. */
export interface SignedMessage {
  readonly key: Uint8Array;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

interface CurveExports {
  readonly memory: WebAssembly.Memory;
  begin(): void;
  tableBytes(width: number): number;
  buildTable(table: number, width: number): void;
  multiply(index: number, tableB: number, widthB: number, tableP: number, widthP: number): void;
  encode(count: number): void;
}

const MODULE_PATH = fileURLToPath(new URL("../build/ed25519.wasm", import.meta.url));
const P = 2n ** 255n - 19n;
/** Order of the base point. */
const L = 2n ** 252n + 27742317777372353535851937790883648493n;
const D = mod(-121665n * invert(121666n));
const ROOT_OF_MINUS_ONE = power(2n, (P - 1n) / 4n);
const BASE_Y = mod(4n * invert(5n));
/** Window widths: the base point's table is made once, a key's must not take much room. */
const BASE_WIDTH = 8;
const KEY_WIDTH = 6;
/** The second number in INPUT. */
const SECOND = 40;
const PAGE_BYTES = 65_536;

/** Verifies signatures of the keys that it was given tables for; one per thread. */
export class Curve {
  /** Tables by key, as Latin-1 text, the one used last at the end. */
  readonly #tables = new Map<string, number>();
  readonly #tablesMax: number;
  readonly #wasm: CurveExports;
  #bytes: Uint8Array;
  #next: number;

  /** Throws when the build is missing. `tablesMax` keys at most have tables, 162 KiB each. */
  constructor(tablesMax: number) {
    const module = new WebAssembly.Module(readFileSync(MODULE_PATH));
    this.#wasm = new WebAssembly.Instance(module, {}).exports as unknown as CurveExports;
    this.#tablesMax = tablesMax;
    this.#bytes = new Uint8Array(this.#wasm.memory.buffer);
    this.#next = TABLES + this.#wasm.tableBytes(BASE_WIDTH);
    this.#reserve(this.#next);
    this.#put(0, mod(2n * D));
    this.#wasm.begin();
    this.#put(0, rootFor(BASE_Y, 0n) as bigint);
    this.#put(SECOND, BASE_Y);
    this.#wasm.buildTable(TABLES, BASE_WIDTH);
  }

  knows(name: string): boolean {
    return this.#tables.has(name);
  }

  /**
   * Makes the table of a key, in place of the one not used for longest when there are too many.
   * @returns false when the bytes are no point of the curve.
   */
  learn(name: string): boolean {
    const bytes = Buffer.from(name, "latin1");
    const encoded = numberOf(bytes);
    const y = encoded & (2n ** 255n - 1n);
    const x = rootFor(y, encoded >> 255n);
    if (x === undefined || y >= P) return false;
    let table = this.#next;
    if (this.#tables.size >= this.#tablesMax) {
      const [oldest, place] = this.#tables.entries().next().value as [string, number];
      this.#tables.delete(oldest);
      table = place;
    } else {
      this.#next += this.#wasm.tableBytes(KEY_WIDTH);
      this.#reserve(this.#next);
    }
    // The equation adds h times the negative of the key.
    this.#put(0, mod(-x));
    this.#put(SECOND, y);
    this.#wasm.buildTable(table, KEY_WIDTH);
    this.#tables.set(name, table);
    return true;
  }

  /** One answer per signature; every key must be known by its name (the key as Latin-1 text). */
  verify(signed: readonly SignedMessage[], names: readonly string[]): boolean[] {
    const answers: boolean[] = [];
    for (let from = 0; from < signed.length; from += RESULTS_MAX) {
      const part = signed.slice(from, from + RESULTS_MAX);
      answers.push(...this.#verifyPart(part, names.slice(from, from + RESULTS_MAX)));
    }
    return answers;
  }

  #verifyPart(signed: readonly SignedMessage[], names: readonly string[]): boolean[] {
    const wasm = this.#wasm;
    for (const [index, { key, message, signature }] of signed.entries()) {
      const name = names[index]!;
      const table = this.#tables.get(name);
      assert(table !== undefined, "the key has a table");
      this.#tables.delete(name);
      this.#tables.set(name, table);
      this.#bytes.set(signature.subarray(32), INPUT);
      // S is read by the caller's check below; an S that is too large is multiplied for nothing.
      this.#bytes[INPUT + 31]! &= 0x1f;
      this.#put(SECOND, challenge(signature, key, message));
      wasm.multiply(index, TABLES, BASE_WIDTH, table, KEY_WIDTH);
    }
    wasm.encode(signed.length);
    return signed.map(({ signature }, index) => {
      if (!isBelowOrder(signature)) return false;
      const at = OUTPUT + index * 32;
      for (let each = 0; each < 32; each++) {
        if (this.#bytes[at + each] !== signature[each]) return false;
      }
      return true;
    });
  }

  #put(offset: number, value: bigint): void {
    const hex = value.toString(16).padStart(64, "0");
    this.#bytes.set(Buffer.from(hex, "hex").toReversed(), INPUT + offset);
  }

  #reserve(bytes: number): void {
    const { memory } = this.#wasm;
    const missing = bytes - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES));
    this.#bytes = new Uint8Array(memory.buffer);
  }
}

/** SHA-512 of R, A and the message, below the order (RFC 8032 §5.1.7). */
function challenge(signature: Uint8Array, key: Uint8Array, message: Uint8Array): bigint {
  const input = Buffer.allocUnsafe(64 + message.byteLength);
  input.set(signature.subarray(0, 32));
  input.set(key, 32);
  input.set(message, 64);
  return numberOf(Buffer.from(hash("sha512", input, "hex"), "hex")) % L;
}

/** Whether S is written in the one way that is accepted. */
function isBelowOrder(signature: Uint8Array): boolean {
  return signature[63]! < 0x10 || numberOf(Buffer.from(signature.subarray(32))) < L;
}

/** A little-endian number. */
function numberOf(bytes: Buffer): bigint {
  return BigInt(`0x${Buffer.from(bytes.toReversed().buffer).toString("hex")}`);
}

/** x of the point with this y whose lowest bit is `sign`; undefined when there is none. */
function rootFor(y: bigint, sign: bigint): bigint | undefined {
  const squared = mod((y * y - 1n) * invert(D * y * y + 1n));
  let x = power(squared, (P + 3n) / 8n);
  if (mod(x * x) !== squared) x = mod(x * ROOT_OF_MINUS_ONE);
  if (mod(x * x) !== squared || (x === 0n && sign === 1n)) return undefined;
  return (x & 1n) === sign ? x : P - x;
}

function mod(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}

function invert(value: bigint): bigint {
  return power(mod(value), P - 2n);
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = mod(base);
  for (let left = exponent; left > 0n; left >>= 1n) {
    if ((left & 1n) === 1n) result = mod(result * square);
    square = mod(square * square);
  }
  return result;
}
