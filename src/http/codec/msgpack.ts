// MessagePack in and out, the only file that imports msgpackr. The library trusts its input, so a
// bounded walk of the bytes comes first: only values that JSON has pass (no extensions, no binary,
// string names, finite and exact numbers), no deeper and no bigger than the bytes can hold.
import { isUtf8 } from "node:buffer";
import { Packr } from "msgpackr";
import { type FieldErrorCode, ServiceFault } from "../../contract/faults.ts";
import { buildJsonPointer } from "../../contract/parse/json-fault.ts";
import { JSON_DEPTH_MAX } from "../../contract/limits.ts";

// `skipValues` is missing from the library's types; it leaves undefined members out, as JSON does.
const packr = new Packr({
  useRecords: false,
  mapsAsObjects: true,
  int64AsType: "number",
  skipValues: [undefined],
} as ConstructorParameters<typeof Packr>[0]);

/** The bytes of a reply. */
export function encodeMsgpack(value: unknown): Uint8Array {
  return packr.pack(value);
}

/**
 * The value of a MessagePack body, same shapes and limits as JSON.
 * @throws ServiceFault `malformed_body` or, where a member is at fault, `invalid_request` with its
 *   pointer.
 */
export function parseMsgpack(bytes: Buffer): unknown {
  if (bytes.length === 0) throw new ServiceFault("malformed_body", "the body is empty");
  new MsgpackValidator(bytes).walk();
  return packr.unpack(bytes);
}

const NUMBER_WIDTHS: Readonly<Record<number, number>> = {
  0xca: 4,
  0xcb: 8,
  0xcc: 1,
  0xcd: 2,
  0xce: 4,
  0xcf: 8,
  0xd0: 1,
  0xd1: 2,
  0xd2: 4,
  0xd3: 8,
};
const LENGTH_WIDTHS: Readonly<Record<number, 1 | 2 | 4>> = {
  0xd9: 1,
  0xda: 2,
  0xdb: 4,
  0xdc: 2,
  0xdd: 4,
  0xde: 2,
  0xdf: 4,
};

/** Walks one document; every read is bounds-checked and every count bounded by the bytes left. */
class MsgpackValidator {
  readonly #bytes: Buffer;
  readonly #path: (string | number)[] = [];
  #offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  walk(): void {
    this.#value(0);
    if (this.#offset !== this.#bytes.length) throw this.#malformed("one value only");
  }

  #value(depth: number): void {
    const token = this.#byte();
    if (token < 0x80 || token >= 0xe0 || token === 0xc0 || token === 0xc2 || token === 0xc3) return;
    if (token < 0x90) return this.#map(token & 0x0f, depth);
    if (token < 0xa0) return this.#array(token & 0x0f, depth);
    if (token < 0xc0) return void this.#string(token & 0x1f);
    const width = NUMBER_WIDTHS[token];
    if (width !== undefined) return this.#number(token, width);
    const lengthWidth = LENGTH_WIDTHS[token];
    if (lengthWidth === undefined) {
      throw this.#at("type", "binary and extension values are not accepted");
    }
    const length = this.#length(lengthWidth);
    if (token <= 0xdb) this.#string(length);
    else if (token <= 0xdd) this.#array(length, depth);
    else this.#map(length, depth);
  }

  #map(count: number, depth: number): void {
    this.#descend(count * 2, depth);
    const names = new Set<string>();
    for (let index = 0; index < count; index += 1) {
      const name = this.#name();
      this.#path.push(name);
      if (names.has(name)) throw this.#at("duplicate", "member is given more than once");
      names.add(name);
      this.#value(depth + 1);
      this.#path.pop();
    }
  }

  #array(count: number, depth: number): void {
    this.#descend(count, depth);
    for (let index = 0; index < count; index += 1) {
      this.#path.push(index);
      this.#value(depth + 1);
      this.#path.pop();
    }
  }

  #descend(valuesMin: number, depth: number): void {
    if (depth === JSON_DEPTH_MAX) {
      throw this.#at("depth", `nested deeper than ${JSON_DEPTH_MAX} levels`, "malformed_body");
    }
    // A count larger than the bytes left is false, and would be allocated before it was found out.
    if (valuesMin > this.#bytes.length - this.#offset) throw this.#malformed("more bytes");
  }

  #name(): string {
    const token = this.#byte();
    if (token >= 0xa0 && token < 0xc0) return this.#string(token & 0x1f);
    if (token === 0xd9) return this.#string(this.#length(1));
    if (token === 0xda) return this.#string(this.#length(2));
    throw this.#at("type", "member names must be strings");
  }

  #string(length: number): string {
    const bytes = this.#bytes.subarray(this.#skip(length), this.#offset);
    if (!isUtf8(bytes)) throw this.#at("format", "string is not valid UTF-8");
    return bytes.toString("utf8");
  }

  #number(token: number, width: number): void {
    const at = this.#skip(width);
    let value = 0;
    if (token === 0xca) value = this.#bytes.readFloatBE(at);
    else if (token === 0xcb) value = this.#bytes.readDoubleBE(at);
    else if (token === 0xcf) value = Number(this.#bytes.readBigUInt64BE(at));
    else if (token === 0xd3) value = Number(this.#bytes.readBigInt64BE(at));
    if (!Number.isFinite(value)) throw this.#at("range", "number is out of range");
    const isInteger = token === 0xcf || token === 0xd3;
    if (isInteger && !Number.isSafeInteger(value)) {
      throw this.#at("range", "integer is beyond the exact range of a double");
    }
  }

  #byte(): number {
    return this.#bytes[this.#skip(1)] as number;
  }

  #length(width: 1 | 2 | 4): number {
    return this.#bytes.readUIntBE(this.#skip(width), width);
  }

  /** Moves past `count` bytes, which must be there; the offset before them. */
  #skip(count: number): number {
    const at = this.#offset;
    if (at + count > this.#bytes.length) throw this.#malformed("more bytes");
    this.#offset = at + count;
    return at;
  }

  #at(
    code: FieldErrorCode,
    detail: string,
    fault: "invalid_request" | "malformed_body" = "invalid_request",
  ): ServiceFault {
    const pointer = buildJsonPointer(this.#path);
    return new ServiceFault(fault, `${detail}: \`${pointer}\``, [{ pointer, code, detail }]);
  }

  #malformed(expected: string): ServiceFault {
    const where = `at byte ${this.#offset}, expected ${expected}`;
    const detail = `the body is not valid MessagePack ${where}`;
    return new ServiceFault("malformed_body", detail);
  }
}
